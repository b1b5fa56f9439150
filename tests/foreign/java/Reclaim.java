// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.VarHandle;

/**
 * Making room in a full ring: section 8. First `oldest` moves. Then, after a fence and a check of all holds,
 * `freed` moves.
 */
final class Reclaim {
    private static final long STALE = -1; // no sequence

    private final Topic t;
    private final long i;
    private final long start;
    private final long size;

    private Reclaim(Topic t, long i, long start, long size) {
        this.t = t;
        this.i = i;
        this.start = start;
        this.size = size;
    }

    /** False: nothing moved, though everybody in the way was asked whether it lives. */
    static boolean room(Topic t, long i, long start, long size) {
        Reclaim claim = new Reclaim(t, i, start, size);
        return claim.once(false) || claim.once(true);
    }

    private boolean once(boolean ask) {
        long oldest = t.ring.get(Layout.RH_OLDEST);
        long freed = t.ring.get(Layout.RH_FREED);
        long limit = i;
        if (t.reliable) {
            limit = belowCursors(belowReaders(limit, true, ask), ask);
        }
        long end = walk(oldest, limit);
        if (end != oldest && end != STALE) {
            pass(oldest, end);
        }
        limit = t.ring.get(Layout.RH_OLDEST);
        VarHandle.fullFence();
        limit = belowCursors(belowReaders(limit, false, ask), ask);
        long seen = t.ring.get(Layout.RH_FREED);
        while (Long.compareUnsigned(seen, limit) < 0) {
            t.ring.swap(Layout.RH_FREED, seen, limit);
            seen = t.ring.get(Layout.RH_FREED);
        }
        boolean moved = t.ring.get(Layout.RH_OLDEST) != oldest || seen != freed;
        if (!moved && end == STALE && t.ring.get(Layout.RH_TAIL) == i) {
            throw new Failure(Failure.CORRUPT, "a slot does not carry its sequence");
        }
        return moved;
    }

    private long belowReaders(long limit, boolean onlyReliable, boolean ask) {
        long freed = t.ring.get(Layout.RH_FREED);
        int high = t.highReader();
        for (int entry = 0; entry < high; entry++) {
            long state = t.readers.get(t.reader(entry) + Layout.R_STATE);
            int kind = Layout.kind(state);
            if (kind == Layout.KIND_FREE || onlyReliable && kind != Layout.KIND_RELIABLE) {
                continue;
            }
            long hold = t.readers.get(t.reader(entry) + Layout.R_HOLD);
            boolean granted = kind == Layout.KIND_RELIABLE || Long.compareUnsigned(hold, freed) >= 0;
            boolean inTheWay = granted && Long.compareUnsigned(hold, limit) < 0;
            if (inTheWay && !(ask && Sweep.freeIfDeadReader(t, entry, state))) {
                limit = hold;
            }
        }
        return limit;
    }

    private long belowCursors(long limit, boolean ask) {
        int high = t.reliable ? t.highCursor() : 0;
        for (int entry = 0; entry < high; entry++) {
            long state = t.readers.get(t.cursor(entry) + Layout.C_STATE);
            if (Layout.kind(state) != Layout.KIND_CURSOR) {
                continue;
            }
            long position = t.readers.get(t.cursor(entry) + Layout.C_POSITION);
            boolean inTheWay = Long.compareUnsigned(position, limit) < 0;
            if (inTheWay && !(ask && Sweep.freeIfExpiredCursor(t, entry, state))) {
                limit = position;
            }
        }
        return limit;
    }

    private boolean enoughIsFree(long seq) {
        long startOfSeq = t.ring.get(t.slot(seq - 1) + Layout.S_END);
        return seq - (i + 2 - t.slotCount + t.slotCount / 16) >= 0
                && startOfSeq - (start + size - t.capacity + t.capacity / 16) >= 0;
    }

    /** Step 2: how far `oldest` may go, or STALE. */
    private long walk(long oldest, long limit) {
        long seq = oldest;
        for (long steps = 0; Long.compareUnsigned(seq, limit) < 0 && steps < t.slotCount / 2; steps++) {
            if (enoughIsFree(seq)) {
                break;
            }
            long word = t.ring.get(t.slot(seq) + Layout.S_WORD);
            if (Layout.lap(word) != t.lap(seq)) {
                return STALE;
            }
            if (Layout.state(word) != Layout.CLAIMED) {
                seq++;
            } else if (!Sweep.writerIsDead(t, Layout.writer(word))) {
                break;
            } else if (Sweep.abandon(t, seq, word)) {
                seq++;
            } // else it was settled meanwhile: look again, as one more step
        }
        return seq;
    }

    /** Step 3: record what is passed, then pass it. */
    private void pass(long oldest, long end) {
        long known = t.ring.get(t.passed(oldest));
        long gone = 0;
        for (long seq = oldest; seq != end; seq++) {
            if (Layout.state(t.ring.get(t.slot(seq) + Layout.S_WORD)) == Layout.GONE) {
                if (!setWhile(oldest, t.abandoned(known - oldest + gone), seq)) {
                    return;
                }
                gone++;
            }
        }
        if (setWhile(oldest, t.passed(end), known + (end - oldest) + gone)) {
            t.ring.swap(Layout.RH_OLDEST, oldest, end);
        }
    }

    /** False: oldest has moved. A swap that fails is tried again: who made it may be late, with an older value. */
    private boolean setWhile(long oldest, long at, long value) {
        for (int attempt = 0; attempt < Failure.ENDLESS; attempt++) {
            long old = t.ring.get(at);
            if (t.ring.get(Layout.RH_OLDEST) != oldest) {
                return false;
            }
            if (old == value || t.ring.swap(at, old, value)) {
                return true;
            }
        }
        return false;
    }
}
