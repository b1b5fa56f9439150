// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.VarHandle;

/** Clean-up after dead processes: completing claims (7.2 step 3), abandoning (7.4), freeing entries (10, 12). */
final class Sweep {
    private Sweep() {}

    static boolean writerIsDead(Topic t, int entry) {
        if (entry >= t.writerCount) {
            throw new Failure(Failure.CORRUPT, "a slot names a writer outside the table");
        }
        return entry != t.ownWriter && !Topic.isLocked(t.ringFile, t.writer(entry));
    }

    /** {@code seen} was loaded before its owner was found dead, or is a claim of our own entry's last owner. */
    static boolean abandon(Topic t, long seq, long seen) {
        long gone = Layout.word(Layout.GONE, Layout.writer(seen), Layout.lap(seen));
        return t.ring.swap(t.slot(seq) + Layout.S_WORD, seen, gone);
    }

    static boolean freeIfDeadReader(Topic t, int entry, long seen) {
        return !Topic.isLocked(t.readersFile, t.reader(entry))
                && t.readers.swap(t.reader(entry) + Layout.R_STATE, seen, Layout.next(seen, Layout.KIND_FREE));
    }

    static boolean freeIfExpiredCursor(Topic t, int entry, long seen) {
        long cursor = t.cursor(entry);
        long life = t.readers.get(cursor + Layout.C_EXPIRES_NS);
        if (life <= 0 || Topic.isLocked(t.readersFile, cursor)) {
            return false;
        }
        long touched = t.readers.get(cursor + Layout.C_TOUCHED_NS);
        return Clock.wallNs() - touched >= life
                && t.readers.swap(cursor + Layout.C_STATE, seen, Layout.next(seen, Layout.KIND_FREE));
    }

    /** Completes the claim of i that the word records, while `tail` has not moved. False: the topic is damaged. */
    static boolean help(Topic t, long i, long word) {
        if (Layout.writer(word) >= t.writerCount) {
            return false;
        }
        int owner = Layout.writer(word);
        long start = t.ring.get(t.slot(i - 1) + Layout.S_END);
        long want = t.ring.get(t.writer(owner) + Layout.W_ANNOUNCED);
        long size = want & 0xffffffffffffL;
        long count = (want >>> 48) + 1;
        if (t.ring.get(Layout.RH_TAIL) != i) {
            return true;
        }
        if (size == 0 || size % 8 != 0 || count >= t.slotCount || count * size > t.capacity) {
            return false;
        }
        for (long k = 0; k < count; k++) {
            if (!finish(t, i, i + k, owner, start + (k + 1) * size)) {
                return true;
            }
        }
        t.ring.swap(Layout.RH_TAIL, i, i + count);
        return true;
    }

    /** One slot of a claim from i on. False: `tail` has moved, what was read may be newer. */
    private static boolean finish(Topic t, long i, long seq, int owner, long right) {
        long endAt = t.slot(seq) + Layout.S_END;
        long wordAt = t.slot(seq) + Layout.S_WORD;
        long end = t.ring.get(endAt);
        long word = t.ring.get(wordAt);
        if (t.ring.get(Layout.RH_TAIL) != i) {
            return false;
        }
        if (end != right) {
            t.ring.swap(endAt, end, right);
        }
        if (Layout.lap(word) != t.lap(seq)) {
            t.ring.swap(wordAt, word, Layout.word(Layout.CLAIMED, owner, t.lap(seq)));
        }
        return true;
    }

    private static void claims(Topic t) {
        long tail = t.ring.get(Layout.RH_TAIL);
        long word = t.ring.get(t.slot(tail) + Layout.S_WORD);
        if (!t.oneWriter && Layout.lap(word) == t.lap(tail) && !help(t, tail, word)) {
            throw new Failure(Failure.CORRUPT, "a claim that cannot be finished");
        }
        tail = t.ring.get(Layout.RH_TAIL);
        long seq = t.ring.get(Layout.RH_FREED);
        for (long steps = 0; seq != tail && steps < t.slotCount; seq++, steps++) {
            word = t.ring.get(t.slot(seq) + Layout.S_WORD);
            if (Layout.state(word) == Layout.CLAIMED
                    && Layout.lap(word) == t.lap(seq)
                    && writerIsDead(t, Layout.writer(word))) {
                abandon(t, seq, word);
            }
        }
    }

    private static boolean writers(Topic t) {
        boolean freed = false;
        for (int entry = 0; entry < t.writerCount; entry++) {
            long state = t.ring.get(t.writer(entry) + Layout.W_STATE);
            if (Layout.kind(state) != Layout.KIND_FREE && writerIsDead(t, entry)) {
                freed |= t.ring.swap(t.writer(entry) + Layout.W_STATE, state, Layout.next(state, Layout.KIND_FREE));
            }
        }
        return freed;
    }

    static void all(Topic t, boolean mayWriteRing) {
        boolean writersFreed = false;
        boolean readersFreed = false;
        if (mayWriteRing) {
            claims(t);
            writersFreed = writers(t);
        }
        for (int entry = 0; entry < t.highReader(); entry++) {
            long state = t.readers.get(t.reader(entry) + Layout.R_STATE);
            if (Layout.kind(state) != Layout.KIND_FREE) {
                readersFreed |= freeIfDeadReader(t, entry, state);
            }
        }
        for (int entry = 0; entry < t.highCursor(); entry++) {
            long state = t.readers.get(t.cursor(entry) + Layout.C_STATE);
            if (Layout.kind(state) == Layout.KIND_CURSOR) {
                readersFreed |= freeIfExpiredCursor(t, entry, state);
            }
        }
        VarHandle.fullFence();
        if (writersFreed) {
            t.waker.wake(t.readers, Layout.DH_WAKE);
        }
        if (readersFreed) {
            t.waker.wake(t.readers, Layout.DH_SPACE);
        }
    }
}
