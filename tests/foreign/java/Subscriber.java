// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/** Subscribing: sections 9 and 10. By copy; a reliable reader holds its position, a lossy one counts what it lost. */
final class Subscriber {
    private static final long LONGEST_NAP_NS = 1_000_000;

    private final Topic t;
    private final boolean reliable;
    private int entry = -1; // none was free
    long position;
    long received;
    long lost;
    private long abandoned; // below the position, if known
    private boolean abandonedKnown;
    private long unwokenMessages; // read since `space` was woken last
    private long unwokenBytes;

    Subscriber(Topic topic, boolean reliable, boolean fromOldest) throws IOException {
        t = topic;
        this.reliable = reliable;
        if (reliable && !t.reliable) {
            throw new Failure(Failure.USAGE, "a reliable subscriber on a lossy topic");
        }
        Sweep.all(t, false);
        takeEntry();
        if (entry >= 0) {
            fillEntry();
        } else if (reliable) {
            throw new Failure(Failure.BUSY, "the reader table is full of the living");
        }
        choosePlace(fromOldest);
        tellPosition();
    }

    /** A reader without an entry, for one look. */
    private Subscriber(Topic topic, long position) {
        t = topic;
        reliable = false;
        this.position = position;
    }

    /** Section 9.5, "last": the newest message there is, or null. */
    static Message newest(Topic t) {
        long tail = t.ring.get(Layout.RH_TAIL);
        for (long seq = tail, steps = 0; steps <= t.slotCount && seq >= 0; seq--, steps++) {
            long word = t.ring.get(t.slot(seq) + Layout.S_WORD);
            if (Layout.state(word) == Layout.READY && Layout.lap(word) == t.lap(seq)) {
                return new Subscriber(t, seq).copy(); // null: overtaken, an old message
            }
        }
        return null;
    }

    private void takeEntry() throws IOException {
        for (boolean onlyFree : new boolean[] {true, false}) {
            for (int e = 0; e < t.readerCount && entry < 0; e++) {
                boolean isFree = Layout.kind(t.readers.get(t.reader(e) + Layout.R_STATE)) == Layout.KIND_FREE;
                if ((isFree || !onlyFree) && Topic.lock(t.readersFile, t.reader(e))) {
                    entry = e;
                }
            }
        }
    }

    /** Section 10, step 3. */
    private void fillEntry() {
        long at = t.reader(entry);
        t.readers.put(at + Layout.R_STATE, Layout.next(t.readers.get(at + Layout.R_STATE), Layout.KIND_FREE));
        int[] counts = {Layout.R_POSITION, Layout.R_RECEIVED, Layout.R_LOST, Layout.R_FILTERED, Layout.R_HELD, Layout.R_POOL};
        for (int field : counts) {
            t.readers.poke(at + field, 0);
        }
        t.readers.pokeInt(at + Layout.R_PID, (int) ProcessHandle.current().pid());
        t.readers.poke(at + Layout.R_SINCE_NS, Clock.wallNs());
        t.readers.put(at + Layout.R_HOLD, reliable ? 0 : Layout.NO_HOLD);
        int high = t.readers.getInt(Layout.DH_HIGH_READER);
        while (Integer.compareUnsigned(high, entry + 1) < 0) {
            t.readers.swapInt(Layout.DH_HIGH_READER, high, entry + 1);
            high = t.readers.getInt(Layout.DH_HIGH_READER);
        }
        int kind = reliable ? Layout.KIND_RELIABLE : Layout.KIND_LOSSY;
        t.readers.put(at + Layout.R_STATE, Layout.next(t.readers.get(at + Layout.R_STATE), kind));
        VarHandle.fullFence();
    }

    /** Section 9.5: the number of abandoned sequences below the position, if it can be known. */
    private void choosePlace(boolean fromOldest) {
        long oldest = t.ring.get(Layout.RH_OLDEST);
        long tail = t.ring.get(Layout.RH_TAIL);
        long word = t.ring.get(t.slot(tail) + Layout.S_WORD);
        boolean uncounted = Layout.state(word) == Layout.READY && Layout.lap(word) == t.lap(tail);
        position = fromOldest ? oldest : tail + (uncounted ? 1 : 0);
        abandoned = t.ring.get(t.passed(oldest)) - oldest;
        abandonedKnown = Long.compareUnsigned(position - oldest, t.slotCount) <= 0;
        for (long seq = oldest; seq != position && abandonedKnown; seq++) {
            int state = Layout.state(t.ring.get(t.slot(seq) + Layout.S_WORD));
            abandoned += state == Layout.GONE ? 1 : 0;
            abandonedKnown = state != Layout.CLAIMED;
        }
        abandonedKnown &= t.ring.get(Layout.RH_OLDEST) == oldest;
    }

    private void tellPosition() {
        if (entry < 0) {
            return;
        }
        long at = t.reader(entry);
        if (reliable) {
            t.readers.put(at + Layout.R_HOLD, position);
        }
        t.readers.poke(at + Layout.R_POSITION, position);
        t.readers.poke(at + Layout.R_RECEIVED, received);
        t.readers.poke(at + Layout.R_LOST, lost);
    }

    /** The lock goes with the process. */
    void detach() {
        if (entry >= 0) {
            long at = t.reader(entry) + Layout.R_STATE;
            t.readers.put(at, Layout.next(t.readers.get(at), Layout.KIND_FREE));
            VarHandle.fullFence();
            t.waker.wake(t.readers, Layout.DH_SPACE);
        }
    }

    /** 9.2 step 3: abandoned sequences not below the position, of the n below oldest. -1: look again. */
    private long countFromLog(long oldest, long n) {
        for (long count = 0; ; count++) {
            if (count == t.slotCount || Long.compareUnsigned(count, n) >= 0) {
                return count;
            }
            long seq = t.ring.get(t.abandoned(n - 1 - count));
            if (Long.compareUnsigned(seq, oldest) >= 0) {
                return t.ring.get(Layout.RH_OLDEST) == oldest ? count : -1;
            }
            if (Long.compareUnsigned(seq, position) < 0) {
                return count;
            }
        }
    }

    private void overtaken() {
        for (int attempt = 0; attempt < Failure.ENDLESS; attempt++) {
            long oldest = t.ring.get(Layout.RH_OLDEST);
            long n = t.ring.get(t.passed(oldest)) - oldest;
            if (t.ring.get(Layout.RH_OLDEST) != oldest) {
                continue;
            }
            long among = abandonedKnown ? n - abandoned : countFromLog(oldest, n);
            if (!abandonedKnown && among == -1) {
                continue;
            }
            long missed = oldest - position;
            if (missed <= 0 || Long.compareUnsigned(among, missed) > 0) {
                break;
            }
            lost += missed - among;
            position = oldest;
            abandoned = n;
            abandonedKnown = true;
            return;
        }
        throw new Failure(Failure.CORRUPT, "overtaken at " + position + ", but not by `oldest`");
    }

    /** 9.1 steps 5 to 7. Null: what was copied is worthless. */
    private Message copy() {
        long at = t.slot(position);
        long lengths = t.ring.peek(at + Layout.S_LENGTHS);
        long end = t.ring.peek(at + Layout.S_END);
        long time = t.ring.peek(at + Layout.S_TIME_NS);
        long size = lengths & 0xffffffffL;
        int type = (int) (lengths >>> 32) & 0xff;
        int sender = (int) (lengths >>> 40) & 0xff;
        long reserved = Layout.reserved(size, type + sender);
        boolean possible = reserved <= t.capacity && lengths >>> 48 == 0 && end % 8 == 0;
        byte[] copy = new byte[possible ? (int) reserved : 0];
        for (int done = 0; done < copy.length; done += 8) {
            long word = t.ring.peek(t.payload(end - reserved + done));
            for (int k = 0; k < 8; k++, word >>>= 8) {
                copy[done + k] = (byte) word;
            }
        }
        VarHandle.acquireFence();
        if (!reliable && Long.compareUnsigned(t.ring.peek(Layout.RH_OLDEST), position) > 0) {
            return null;
        }
        if (!possible) {
            throw new Failure(Failure.CORRUPT, "impossible lengths at " + position);
        }
        int meta = (int) Layout.roundUp(size, 8);
        byte[] typeBytes = Arrays.copyOfRange(copy, meta, meta + type);
        byte[] senderBytes = Arrays.copyOfRange(copy, meta + type, meta + type + sender);
        return new Message(position, time, senderBytes, typeBytes, Arrays.copyOf(copy, (int) size));
    }

    /** The message at the position, or null: nothing yet, or somebody's claim is in front. */
    private Message look() {
        for (int attempt = 0; attempt < Failure.ENDLESS; attempt++) {
            long at = t.slot(position) + Layout.S_WORD;
            long word = t.ring.get(at);
            long lap = t.lap(position);
            if (Layout.lap(word) < lap) {
                return null;
            }
            Message message = null;
            if (Layout.lap(word) > lap || Layout.state(word) == Layout.READY && (message = copy()) == null) {
                overtaken();
                continue;
            }
            if (message != null) {
                return message;
            }
            if (Layout.state(word) == Layout.FREE) {
                throw new Failure(Failure.CORRUPT, "a free slot with a lap");
            }
            if (Long.compareUnsigned(t.ring.get(Layout.RH_TAIL), position) <= 0) {
                return null;
            }
            if (Layout.state(word) == Layout.CLAIMED) {
                if (!Sweep.writerIsDead(t, Layout.writer(word))) {
                    return null;
                }
                if (t.ring.get(at) != word) {
                    continue;
                }
            }
            position++;
            abandoned++;
        }
        throw new Failure(Failure.CORRUPT, "nothing readable in " + Failure.ENDLESS + " attempts");
    }

    /** Section 11: publishers that wait for room hear of it a sixteenth of the ring at a time. */
    private void tellPublishers(boolean readAll) {
        boolean much = unwokenMessages >= t.slotCount / 16 || unwokenBytes >= t.capacity / 16;
        if (reliable && (readAll || much)) {
            unwokenMessages = 0;
            unwokenBytes = 0;
            t.waker.wake(t.readers, Layout.DH_SPACE);
        }
    }

    /** Returns the next message, or null when the time is over. Polls: Java cannot sleep on `wake`. */
    Message receive(long waitNs) throws IOException {
        t.checkThere(false);
        long deadline = System.nanoTime() + waitNs;
        Message message = look();
        for (long nap = 1000; message == null; nap = Math.min(nap * 2, LONGEST_NAP_NS)) {
            tellPosition(); // abandoned sequences may have been passed
            tellPublishers(true);
            if (System.nanoTime() - deadline >= 0) {
                return null;
            }
            LockSupport.parkNanos(nap);
            t.checkThere(nap == LONGEST_NAP_NS);
            message = look();
        }
        position++;
        received++;
        unwokenMessages++;
        unwokenBytes += message.body().length;
        tellPosition(); // the copy is done: its memory may be reused
        tellPublishers(false);
        return message;
    }
}
