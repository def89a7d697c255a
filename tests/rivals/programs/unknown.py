await call_tool("close_ticket", {"id": 1})
two = await call_tool("shut_ticket", {"id": 2})
return two
