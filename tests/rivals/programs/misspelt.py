await call_tool("close_ticket", {"id": 1})
two = await call_tool("close_ticket", {"ib": 2})
return two
