done = []
for id in [1, 2, 3, 4]:
    closed = await call_tool("close_ticket", {"id": id})
    done.append(closed["state"])
return done
