const seen = await Promise.all([1, 2, 3, 4, 5, 6].map(async (id) => {
    const one = await desk.read_ticket({ id });
    const again = await desk.read_ticket({ id: one.id });
    return again.state;
}));
const two = await desk.close_ticket({ id: 2 });
return { seen, two: two.state };
