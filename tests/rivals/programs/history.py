text = await call_tool("read_history", {})
return text
