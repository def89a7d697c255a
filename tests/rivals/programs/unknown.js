await desk.close_ticket({ id: 1 });
const two = await desk.shut_ticket({ id: 2 });
return two;
