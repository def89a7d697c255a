one = await call_tool("close_ticket", {"id": 1})
two = await call_tool("close_ticket", {"id": 2})
three = await call_tool("close_ticket", {"id": 3})
return [one["state"], two["state"], three["state"]]
