const two = await desk.close_ticket({ id: 2, note: `at ${Date.now()} ${Math.random()}` });
return two.state;
