found = await call_tool("list_tickets", {})
done = []
for ticket in found["tickets"][:6]:
    seen = await call_tool("read_ticket", {"id": ticket["id"]})
    closed = await call_tool("close_ticket", {"id": seen["id"]})
    done.append(closed["state"])
return done
