let count = 0;
for (let row = 0; row < 200; row++) {
    await desk.read_ticket({ id: row % 12 + 1 });
    count += 1;
}
return count;
