count = 0
for row in range(200):
    await call_tool("read_ticket", {"id": row % 12 + 1})
    count += 1
return count
