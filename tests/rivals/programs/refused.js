const done = [];
for (const id of [1, 2, 3, 4]) {
    const closed = await desk.close_ticket({ id });
    done.push(closed.state);
}
return done;
