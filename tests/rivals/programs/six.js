const found = await desk.list_tickets({});
const done = [];
for (const ticket of found.tickets.slice(0, 6)) {
    const seen = await desk.read_ticket({ id: ticket.id });
    const closed = await desk.close_ticket({ id: seen.id });
    done.push(closed.state);
}
return done;
