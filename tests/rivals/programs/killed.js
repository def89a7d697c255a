const one = await desk.close_ticket({ id: 1 });
const two = await desk.close_ticket({ id: 2 });
const three = await desk.close_ticket({ id: 3 });
return [one.state, two.state, three.state];
