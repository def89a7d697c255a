await desk.close_ticket({ id: 1 });
const two = await desk.close_ticket({ ib: 2 });
return two;
