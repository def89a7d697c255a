const text = await desk.read_history({});
return text;
