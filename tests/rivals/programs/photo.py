seen = await call_tool("read_photo", {})
return seen
