// SPDX-License-Identifier: Apache-2.0

/**
 * Waking sleepers: section 11.
 *
 * <p>Java has no futex call. This waker acts like one that dies after its first step: it counts the wake-up and leaves
 * the <em>waking</em> mark. A process about to sleep then stays awake. The next publisher that can make the call makes
 * it. A process already asleep checks again when its slice ends. Slices of publishers are 10 ms at most. Slices of
 * readers are 1 s at most, once they know of a mute publisher. IncubatorWaker adds the system call, where the JVM
 * permits it.
 */
class Waker {
    static Waker find() {
        if (ModuleLayer.boot().findModule("jdk.incubator.foreign").isEmpty()) {
            return new Waker();
        }
        try {
            return (Waker) Class.forName("IncubatorWaker").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException broken) {
            throw new IllegalStateException(broken);
        }
    }

    final void wake(Shared readers, int at) {
        int seen;
        int marked;
        do {
            seen = readers.getInt(at);
            if ((seen & needsCall()) == 0) {
                return;
            }
            marked = seen + Layout.COUNT_ONE & ~Layout.SLEEPING | Layout.WAKING;
        } while (!readers.swapInt(at, seen, marked));
        call(readers, at, marked);
    }

    /** The bits that require a wake-up. Without a call, the <em>waking</em> mark needs no repetition. */
    int needsCall() {
        return Layout.SLEEPING;
    }

    /** Of one that is about to publish. */
    void announce(Shared readers) {
        readers.pokeInt(Layout.DH_CANNOT_WAKE, 1);
    }

    void call(Shared readers, int at, int marked) {}
}
