// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;

/**
 * An open topic: sections 3.6, 4 and 6.
 *
 * <p>Java locks bytes with POSIX record locks. They exclude the open-file-description locks of others and are seen by
 * them, and the kernel drops them when the process dies: all that life needs. But they belong to the process, and
 * closing <em>any</em> channel of the file drops them all. So each file is opened once in a process, for locks and
 * mapping together, and never closed before the end.
 */
final class Topic {
    final Shared ring;
    final Shared readers;
    final long slotCount;
    final long capacity;
    final long writersAt;
    final long slotsAt;
    final long passedAt;
    final long abandonedAt;
    final long payloadAt;
    final long readersAt;
    final long cursorsAt;
    final int writerCount;
    final int readerCount;
    final int cursorCount;
    final boolean reliable;
    final boolean oneWriter;
    final FileChannel ringFile;
    final FileChannel readersFile;
    final Waker waker;
    private final int schemaSize;
    private final long schemaHash;
    int ownWriter = -1;
    private final Path ringPath;
    private final Object ringIdentity;

    Topic(Path directory, String name, boolean toPublish) throws IOException {
        ringPath = directory.resolve(name + ".ring");
        Path readersPath = directory.resolve(name + ".readers");
        ringFile = open(ringPath, toPublish);
        readersFile = open(readersPath, true);
        ringIdentity = identity(ringPath);
        ByteBuffer r = header(ringFile, Layout.RING_MAGIC);
        ByteBuffer d = header(readersFile, Layout.READERS_MAGIC);
        slotCount = powerOfTwo(r.getLong(Layout.RH_SLOT_COUNT), Layout.MIN_SLOTS, Layout.MAX_SLOTS);
        capacity = powerOfTwo(r.getLong(Layout.RH_CAPACITY), Layout.MIN_CAPACITY, Layout.MAX_CAPACITY);
        writerCount = count(r.getInt(Layout.RH_WRITER_COUNT), Layout.MAX_WRITERS);
        readerCount = count(r.getInt(Layout.RH_READER_COUNT), Layout.MAX_READERS);
        cursorCount = count(r.getInt(Layout.RH_CURSOR_COUNT), Layout.MAX_CURSORS);
        writersAt = Layout.PAGE;
        slotsAt = Layout.roundUp(writersAt + (long) writerCount * Layout.WRITER_SIZE, Layout.PAGE);
        passedAt = slotsAt + slotCount * Layout.SLOT_SIZE;
        abandonedAt = passedAt + slotCount * Layout.WORD_SIZE;
        payloadAt = Layout.roundUp(abandonedAt + slotCount * Layout.WORD_SIZE, Layout.PAGE);
        readersAt = Layout.PAGE;
        cursorsAt = readersAt + (long) readerCount * Layout.READER_SIZE;
        reliable = bit(r.getInt(Layout.RH_DELIVERY));
        oneWriter = bit(r.getInt(Layout.RH_WRITERS));
        if (bit(r.getInt(Layout.RH_CONTENT)) && toPublish) {
            throw new Failure(Failure.USAGE, "a topic of frames: messages cannot be published there");
        }
        checkRing(r);
        checkReaders(d, r.getLong(Layout.H_GENERATION));
        schemaSize = r.getInt(Layout.RH_SCHEMA_SIZE);
        schemaHash = r.getLong(Layout.RH_SCHEMA_HASH);
        ring = map(ringFile, toPublish, payloadAt + capacity);
        readers = map(readersFile, true, d.getLong(Layout.H_FILE_SIZE));
        waker = Waker.find();
    }

    private static FileChannel open(Path path, boolean toWrite) throws IOException {
        Set<OpenOption> how = new HashSet<>(Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
        if (toWrite) {
            how.add(StandardOpenOption.WRITE);
        }
        try {
            return FileChannel.open(path, how);
        } catch (NoSuchFileException absent) {
            throw new Failure(Failure.ABSENT, path + " does not exist");
        }
    }

    private static Object identity(Path path) throws IOException {
        return Files.readAttributes(path, "unix:dev,ino", LinkOption.NOFOLLOW_LINKS);
    }

    private static void check(boolean good, String what) {
        if (!good) {
            throw new Failure(Failure.CORRUPT, what);
        }
    }

    private static ByteBuffer header(FileChannel file, long magic) throws IOException {
        ByteBuffer page = ByteBuffer.allocate(Layout.PAGE).order(ByteOrder.LITTLE_ENDIAN);
        while (page.hasRemaining() && file.read(page, page.position()) > 0) {
            continue;
        }
        check(!page.hasRemaining(), "shorter than a page");
        check(page.getLong(Layout.H_MAGIC) == magic, "another magic");
        check(page.getInt(Layout.H_VERSION) == Layout.LAYOUT_VERSION, "another version");
        check(page.getLong(Layout.H_LAYOUT_HASH) == Layout.LAYOUT_HASH, "another layout");
        check(page.getInt(Layout.H_PAGE_SIZE) == Layout.PAGE, "another page size");
        return page;
    }

    private static long powerOfTwo(long x, long least, long most) {
        check(x >= least && x <= most && Long.bitCount(x) == 1, "a count outside its limits");
        return x;
    }

    private static int count(int x, int most) {
        check(x >= 1 && x <= most, "a table outside its limits");
        return x;
    }

    private static boolean bit(int x) {
        check(x == 0 || x == 1, "an unknown setting");
        return x == 1;
    }

    private void checkRing(ByteBuffer r) throws IOException {
        check(r.getLong(Layout.RH_WRITERS_OFFSET) == writersAt && r.getLong(Layout.RH_SLOTS_OFFSET) == slotsAt, "offsets");
        check(r.getLong(Layout.RH_PASSED_OFFSET) == passedAt, "offsets");
        check(r.getLong(Layout.RH_ABANDONED_OFFSET) == abandonedAt, "offsets");
        check(r.getLong(Layout.RH_PAYLOAD_OFFSET) == payloadAt, "offsets");
        int schemaSize = r.getInt(Layout.RH_SCHEMA_SIZE);
        check(schemaSize >= 0 && schemaSize <= Layout.MAX_SCHEMA, "the size of the schema");
        long size = payloadAt + capacity + Layout.roundUp(schemaSize, Layout.PAGE);
        check(r.getLong(Layout.H_FILE_SIZE) == size && ringFile.size() == size, "size");
        check(r.getLong(Layout.H_GENERATION) != 0 && (!oneWriter || writerCount == 1), "settings");
        byte[] found = new byte[16];
        r.get(Layout.RH_BOOT_ID, found);
        check(Arrays.equals(found, bootId()), "made before the machine was started");
    }

    static byte[] bootId() throws IOException {
        String digits = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip().replace("-", "");
        return HexFormat.of().parseHex(digits);
    }

    private void checkReaders(ByteBuffer d, long generation) throws IOException {
        long size = Layout.roundUp(cursorsAt + (long) cursorCount * Layout.CURSOR_SIZE, Layout.PAGE);
        check(d.getLong(Layout.H_GENERATION) == generation, "two files of different topics");
        check(d.getLong(Layout.DH_READERS_OFFSET) == readersAt && d.getLong(Layout.DH_CURSORS_OFFSET) == cursorsAt, "offsets");
        check(d.getInt(Layout.DH_READER_COUNT) == readerCount && d.getInt(Layout.DH_CURSOR_COUNT) == cursorCount, "counts");
        check(d.getLong(Layout.H_FILE_SIZE) == size && readersFile.size() == size, "size");
    }

    private static Shared map(FileChannel file, boolean toWrite, long size) throws IOException {
        check(size <= Integer.MAX_VALUE, "larger than one MappedByteBuffer");
        return new Shared(file.map(toWrite ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY, 0, size));
    }

    /** The bytes of the schema, compared with their hash (section 6), or null. */
    byte[] schema() throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(schemaSize);
        while (bytes.hasRemaining() && ringFile.read(bytes, payloadAt + capacity + bytes.position()) > 0) {
            continue;
        }
        check(!bytes.hasRemaining(), "the schema cannot be read");
        long hash = 0xcbf29ce484222325L;
        for (byte each : bytes.array()) {
            hash = (hash ^ each & 0xff) * 0x100000001b3L;
        }
        check(schemaSize == 0 || hash == schemaHash, "the schema has another hash than its header");
        return schemaSize == 0 ? null : bytes.array();
    }

    long slot(long seq) {
        return slotsAt + (seq & slotCount - 1) * Layout.SLOT_SIZE;
    }

    long passed(long seq) {
        return passedAt + (seq & slotCount - 1) * Layout.WORD_SIZE;
    }

    long abandoned(long index) {
        return abandonedAt + (index & slotCount - 1) * Layout.WORD_SIZE;
    }

    /** Of 8 bytes, inside the ring even if `end` is damaged. */
    long payload(long position) {
        return payloadAt + (position & capacity - 1 & ~7);
    }

    long writer(int entry) {
        return writersAt + (long) entry * Layout.WRITER_SIZE;
    }

    long reader(int entry) {
        return readersAt + (long) entry * Layout.READER_SIZE;
    }

    long cursor(int entry) {
        return cursorsAt + (long) entry * Layout.CURSOR_SIZE;
    }

    /** The lap of a sequence. */
    long lap(long seq) {
        return Long.divideUnsigned(seq, slotCount) + 1;
    }

    int highReader() {
        return cut(readers.getInt(Layout.DH_HIGH_READER), readerCount);
    }

    int highCursor() {
        return cut(readers.getInt(Layout.DH_HIGH_CURSOR), cursorCount);
    }

    private static int cut(int high, int count) {
        return Integer.compareUnsigned(high, count) < 0 ? high : count;
    }

    static boolean lock(FileChannel file, long at) throws IOException {
        try {
            return file.tryLock(at, 1, false) != null;
        } catch (OverlappingFileLockException ours) {
            return false;
        }
    }

    /**
     * Java cannot ask for a lock (F_GETLK), only try. A shared lock for a moment disturbs least; meanwhile others take a
     * dead owner for a living one and look again.
     */
    static boolean isLocked(FileChannel file, long at) {
        try (FileLock trial = file.tryLock(at, 1, true)) {
            return trial == null;
        } catch (OverlappingFileLockException | IOException unknown) {
            return true;
        }
    }

    void checkThere(boolean thoroughly) throws IOException {
        if (ring.get(Layout.RH_REMOVED) != 0) {
            throw new Failure(Failure.GONE, "the topic was removed");
        }
        if (thoroughly && !stillNamed()) {
            throw new Failure(Failure.GONE, "the file of the topic was deleted");
        }
    }

    void markRemoved() {
        ring.put(Layout.RH_REMOVED, 1);
    }

    private boolean stillNamed() throws IOException {
        try {
            return identity(ringPath).equals(ringIdentity);
        } catch (NoSuchFileException gone) {
            return false;
        }
    }
}
