# SPDX-License-Identifier: Apache-2.0
import asyncio

import slipring

with slipring.Bus("shop") as bus, bus.client("stock", timeout=5.0) as stock:
    stock.wait_for_server(10)
    print("apples left:", stock.call("take", "apples", amount=5))

    for wrong in (("take", "pears", 4), ("take", "plums"), ("take",), ("give",)):
        try:
            stock.call(*wrong)
        except slipring.RemoteError as error:
            print(f"{type(error).__name__}: {error}")

    try:
        stock.within(0.05).call("slowly", 60)
    except slipring.Timeout as error:
        print("Timeout:", error)

    print("sold:", [day["sold"] for day in stock.stream("history", 6)])
    print("photo:", len(stock.call("photo", 10_000_000)), "bytes")

    async def both():
        return await asyncio.gather(stock.acall("slowly", 0.01), stock.acall("take", "apples"))

    print("both:", asyncio.run(both()))

    try:
        stock.call("stop")
    except slipring.PeerGone as error:
        print("PeerGone:", error)
