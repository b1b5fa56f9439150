# SPDX-License-Identifier: Apache-2.0
import asyncio

import slipring

with slipring.Bus("shop") as bus, bus.server("stock", workers=4) as server:
    shelf = {"apples": 12, "pears": 3}

    @server.method
    def take(what, amount=1):
        if shelf[what] < amount:
            raise ValueError(f"only {shelf[what]} {what} left")
        shelf[what] -= amount
        return shelf[what]

    @server.method
    async def slowly(seconds):
        await asyncio.sleep(seconds)
        return "done"

    @server.method
    def history(days):
        for day in range(days):
            yield {"day": day, "sold": day * 7 % 5}

    @server.method
    def photo(size):
        return bytes(size)

    server.method(server.close, name="stop")
    server.run()
