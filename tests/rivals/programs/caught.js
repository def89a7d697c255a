let three = "closed";
try {
    await desk.close_ticket({ id: 3 });
} catch (error) {
    three = "refused";
}
const two = await desk.close_ticket({ id: 2 });
return { three, two: two.state };
