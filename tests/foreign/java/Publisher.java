// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/** Publishing: section 7. Many writers claim by one swap and help each other; one writer stores what it knows. */
final class Publisher {
    private static final long FIRST_SLICE_NS = 500_000;
    private static final long LAST_SLICE_NS = 10_000_000;

    private final Topic t;
    private final byte[] sender;
    private final int entry;
    private long tail; // with one writer these four are kept privately
    private long end;
    private long freed;
    private long freedStart;
    private long seq; // of the newest claim
    private long start;

    Publisher(Topic topic, String sender) throws IOException {
        t = topic;
        this.sender = sender.getBytes(StandardCharsets.UTF_8);
        Sweep.all(t, true);
        entry = takeEntry();
        t.waker.announce(t.readers);
        t.ownWriter = entry;
        settleLastOwner();
        long at = t.writer(entry);
        byte[] name = Arrays.copyOf(this.sender, Layout.W_NAME_BYTES);
        t.ring.memory.put((int) at + Layout.W_NAME, name);
        t.ring.pokeInt(at + Layout.W_NAME_SIZE, Math.min(this.sender.length, Layout.W_NAME_BYTES));
        t.ring.pokeInt(at + Layout.W_PID, (int) ProcessHandle.current().pid());
        t.ring.poke(at + Layout.W_PUBLISHED_BEFORE, t.ring.peek(at + Layout.W_PUBLISHED));
        t.ring.poke(at + Layout.W_BYTES_BEFORE, t.ring.peek(at + Layout.W_BYTES));
        t.ring.put(at + Layout.W_STATE, Layout.next(t.ring.get(at + Layout.W_STATE), Layout.KIND_WRITER));
        VarHandle.fullFence();
        t.waker.wake(t.readers, Layout.DH_WAKE);
        tail = t.ring.get(Layout.RH_TAIL);
        end = t.ring.get(t.slot(tail - 1) + Layout.S_END);
        loadFreed();
    }

    private int takeEntry() throws IOException {
        for (boolean onlyFree : new boolean[] {true, false}) {
            for (int e = 0; e < t.writerCount; e++) {
                boolean isFree = Layout.kind(t.ring.get(t.writer(e) + Layout.W_STATE)) == Layout.KIND_FREE;
                if ((isFree || !onlyFree) && Topic.lock(t.ringFile, t.writer(e))) {
                    return e;
                }
            }
        }
        throw new Failure(Failure.BUSY, t.oneWriter ? "another publisher" : "the writer table is full of the living");
    }

    /** 7.1 steps 3 and 4: what the entry's last owner left unfinished. */
    private void settleLastOwner() {
        long newest = t.ring.get(Layout.RH_TAIL);
        long word = t.ring.get(t.slot(newest) + Layout.S_WORD);
        if (Layout.lap(word) == t.lap(newest)) {
            if (t.oneWriter) {
                t.ring.put(Layout.RH_TAIL, newest + 1);
            } else if (!Sweep.help(t, newest, word)) {
                throw new Failure(Failure.CORRUPT, "a claim that cannot be finished");
            }
        }
        newest = t.ring.get(Layout.RH_TAIL);
        long s = t.ring.get(Layout.RH_FREED);
        for (long steps = 0; s != newest && steps < t.slotCount; s++, steps++) {
            word = t.ring.get(t.slot(s) + Layout.S_WORD);
            boolean open = Layout.state(word) == Layout.CLAIMED && Layout.lap(word) == t.lap(s);
            if (open && Layout.writer(word) == entry) {
                Sweep.abandon(t, s, word);
            }
        }
    }

    /** The lock goes with the process: closing the file would drop every lock of this process on it. */
    void detach() {
        long at = t.writer(entry) + Layout.W_STATE;
        t.ring.put(at, Layout.next(t.ring.get(at), Layout.KIND_FREE));
    }

    boolean isThere() throws IOException {
        try {
            t.checkThere(true);
            return true;
        } catch (Failure gone) {
            return false;
        }
    }

    private void loadFreed() {
        freed = t.ring.get(Layout.RH_FREED);
        freedStart = t.ring.get(t.slot(freed - 1) + Layout.S_END);
    }

    private boolean hasRoom(long i, long f, long begin, long reserved, long fstart) {
        return i - f < t.slotCount - 1 && begin + reserved - fstart <= t.capacity;
    }

    /** 7.2. False: full. */
    private boolean claimOfMany(long reserved) {
        for (int attempt = 0; attempt < Failure.ENDLESS; attempt++) {
            long i = t.ring.get(Layout.RH_TAIL);
            long at = t.slot(i);
            long word = t.ring.get(at + Layout.S_WORD);
            if (Layout.lap(word) == t.lap(i)) {
                if (!Sweep.help(t, i, word) && t.ring.get(Layout.RH_TAIL) == i) {
                    throw new Failure(Failure.CORRUPT, "a claim that cannot be finished");
                }
                continue;
            }
            long begin = t.ring.get(t.slot(i - 1) + Layout.S_END);
            long f = t.ring.get(Layout.RH_FREED);
            long fstart = t.ring.get(t.slot(f - 1) + Layout.S_END);
            if (t.ring.get(Layout.RH_TAIL) != i) {
                continue;
            }
            if (Layout.lap(word) != t.lap(i) - 1) {
                throw new Failure(Failure.CORRUPT, "the slot of the tail has a wrong lap");
            }
            if (!hasRoom(i, f, begin, reserved, fstart)) {
                if (!Reclaim.room(t, i, begin, reserved) && t.ring.get(Layout.RH_TAIL) == i) {
                    return false;
                }
                continue;
            }
            t.ring.put(t.writer(entry) + Layout.W_ANNOUNCED, reserved);
            if (t.ring.swap(at + Layout.S_WORD, word, Layout.word(Layout.CLAIMED, entry, t.lap(i)))) {
                VarHandle.releaseFence();
                t.ring.poke(at + Layout.S_END, begin + reserved);
                t.ring.swap(Layout.RH_TAIL, i, i + 1);
                VarHandle.releaseFence();
                seq = i;
                start = begin;
                return true;
            }
        }
        throw new Failure(Failure.CORRUPT, "no claim in " + Failure.ENDLESS + " attempts");
    }

    /** 7.3, for a message that is filled and committed at once: nothing is stored before the commit. */
    private boolean claimOfOne(long reserved) {
        while (!hasRoom(tail, freed, end, reserved, freedStart)) {
            if (!Reclaim.room(t, tail, end, reserved)) {
                return false;
            }
            loadFreed();
        }
        VarHandle.releaseFence();
        seq = tail;
        start = end;
        return true;
    }

    private void fill(long position, byte[] bytes) {
        for (int done = 0; done < bytes.length; done += 8) {
            long word = 0;
            for (int k = Math.min(8, bytes.length - done) - 1; k >= 0; k--) {
                word = word << 8 | bytes[done + k] & 0xff;
            }
            t.ring.poke(t.payload(position + done), word);
        }
    }

    /** 7.4 */
    private void commit(byte[] type, byte[] body, long reserved) {
        long at = t.slot(seq);
        byte[] meta = Arrays.copyOf(type, type.length + sender.length);
        System.arraycopy(sender, 0, meta, type.length, sender.length);
        fill(start, body);
        fill(start + Layout.roundUp(body.length, 8), meta);
        t.ring.poke(at + Layout.S_LENGTHS, body.length | (long) type.length << 32 | (long) sender.length << 40);
        t.ring.poke(at + Layout.S_TIME_NS, Clock.wallNs());
        if (t.oneWriter) {
            t.ring.poke(at + Layout.S_END, start + reserved);
        }
        t.ring.put(at + Layout.S_WORD, Layout.word(Layout.READY, entry, t.lap(seq)));
        if (t.oneWriter) {
            tail = seq + 1;
            end = start + reserved;
            t.ring.put(Layout.RH_TAIL, tail);
        }
        long own = t.writer(entry);
        t.ring.poke(own + Layout.W_PUBLISHED, t.ring.peek(own + Layout.W_PUBLISHED) + 1);
        t.ring.poke(own + Layout.W_BYTES, t.ring.peek(own + Layout.W_BYTES) + body.length);
        VarHandle.fullFence();
        t.waker.wake(t.readers, Layout.DH_WAKE);
    }

    /** Returns the sequence of the message. Polls while there is no room: Java cannot sleep on `space`. */
    long send(String typeText, byte[] body, long waitNs) throws IOException {
        byte[] type = typeText.getBytes(StandardCharsets.UTF_8);
        long reserved = Layout.reserved(body.length, type.length + sender.length);
        if (reserved > t.capacity || type.length > Layout.MAX_NAME || sender.length > Layout.MAX_NAME) {
            throw new Failure(Failure.USAGE, "a message that can never fit");
        }
        t.checkThere(false);
        long slice = FIRST_SLICE_NS;
        long deadline = System.nanoTime() + waitNs;
        while (!(t.oneWriter ? claimOfOne(reserved) : claimOfMany(reserved))) {
            if (System.nanoTime() - deadline >= 0) {
                throw new Failure(Failure.FULL, "no room");
            }
            LockSupport.parkNanos(slice);
            slice = Math.min(slice * 2, LAST_SLICE_NS);
            t.checkThere(true);
        }
        commit(type, body, reserved);
        return seq;
    }
}
