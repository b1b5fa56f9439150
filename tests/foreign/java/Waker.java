// SPDX-License-Identifier: Apache-2.0

/**
 * Waking sleepers: section 11.
 *
 * <p>Java has no futex call. This waker does what a waker does that dies after its first step: it counts the wake-up and
 * leaves the <em>waking</em> mark. Who was about to sleep does not, and the next publisher that can make the call makes
 * it. Who sleeps already looks again when its slice ends: 10 ms at most for publishers; readers have slices of 1 s at most
 * once they have seen that a mute one publishes. IncubatorWaker goes on from there with the system call, where the JVM
 * lets it.
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

    /** A mark that is there already says all that can be said without a call. */
    int needsCall() {
        return Layout.SLEEPING;
    }

    /** Of one that is about to publish. */
    void announce(Shared readers) {
        readers.pokeInt(Layout.DH_MUTE, 1);
    }

    void call(Shared readers, int at, int marked) {}
}
