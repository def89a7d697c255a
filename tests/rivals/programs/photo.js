const seen = await desk.read_photo({});
return seen;
