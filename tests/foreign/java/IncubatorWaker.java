// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import jdk.incubator.foreign.CLinker;
import jdk.incubator.foreign.FunctionDescriptor;
import jdk.incubator.foreign.MemoryAddress;
import jdk.incubator.foreign.MemorySegment;

/** The futex call by JDK 17's incubating foreign functions: {@code --add-modules jdk.incubator.foreign}. */
final class IncubatorWaker extends Waker {
    private static final long SYS_FUTEX = System.getProperty("os.arch").equals("aarch64") ? 98 : 202;
    private static final long FUTEX_WAKE = 1;
    private static final MethodHandle SYSCALL =
            CLinker.getInstance()
                    .downcallHandle(
                            CLinker.systemLookup().lookup("syscall").orElseThrow(),
                            MethodType.methodType(
                                    long.class, long.class, MemoryAddress.class, long.class, long.class, long.class),
                            FunctionDescriptor.of(
                                    CLinker.C_LONG,
                                    CLinker.C_LONG,
                                    CLinker.asVarArg(CLinker.C_POINTER),
                                    CLinker.asVarArg(CLinker.C_LONG),
                                    CLinker.asVarArg(CLinker.C_LONG),
                                    CLinker.asVarArg(CLinker.C_LONG)));

    @Override
    int needsCall() {
        return Layout.SLEEPING | Layout.WAKING;
    }

    @Override
    void announce(Shared readers) {}

    @Override
    void call(Shared readers, int at, int marked) {
        MemoryAddress word = MemorySegment.ofByteBuffer(readers.memory).address().addOffset(at);
        try {
            long ignored = (long) SYSCALL.invokeExact(SYS_FUTEX, word, FUTEX_WAKE, (long) Integer.MAX_VALUE, 0L);
        } catch (Throwable broken) {
            throw new IllegalStateException(broken);
        }
        int seen = marked;
        while (!readers.swapInt(at, seen, seen & ~Layout.WAKING)) {
            seen = readers.getInt(at);
            if (((seen ^ marked) & ~Layout.SLEEPING) != 0) {
                return; // somebody began to wake after us and will switch it off
            }
        }
    }
}
