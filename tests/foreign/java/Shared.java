// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;

/** Atomic access to the words of one mapped file. Fences are those of VarHandle. */
final class Shared {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    final MappedByteBuffer memory;

    Shared(MappedByteBuffer memory) {
        this.memory = memory;
    }

    long get(long at) {
        return (long) LONGS.getAcquire(memory, (int) at);
    }

    long peek(long at) {
        return (long) LONGS.getOpaque(memory, (int) at);
    }

    void put(long at, long value) {
        LONGS.setRelease(memory, (int) at, value);
    }

    void poke(long at, long value) {
        LONGS.setOpaque(memory, (int) at, value);
    }

    boolean swap(long at, long from, long to) {
        return LONGS.compareAndSet(memory, (int) at, from, to);
    }

    int getInt(long at) {
        return (int) INTS.getVolatile(memory, (int) at);
    }

    void pokeInt(long at, int value) {
        INTS.setOpaque(memory, (int) at, value);
    }

    boolean swapInt(long at, int from, int to) {
        return INTS.compareAndSet(memory, (int) at, from, to);
    }
}
