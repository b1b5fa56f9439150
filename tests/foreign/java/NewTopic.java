// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.Set;

/**
 * Creating and removing a topic whose name nobody else would choose: section 6.
 *
 * <p>Java has neither O_TMPFILE nor flock on a directory. The ring is written under a name that looks like the other half of
 * a topic ({@code <topic>.new.readers}) and then linked to its own: should we die on the way, what is left is half a topic,
 * which every repair deletes. Without the bus lock this is only for names with a random part.
 */
final class NewTopic {
    private static final int WRITERS = 4;
    private static final int READERS = 4;
    private static final int CURSORS = 1;
    private static final int RELIABLE = 1;

    private NewTopic() {}

    static void create(Path directory, String name, long capacity, long slots, Set<PosixFilePermission> mode)
            throws IOException {
        long slotsAt = Layout.roundUp(Layout.PAGE + WRITERS * Layout.WRITER_SIZE, Layout.PAGE);
        long passedAt = slotsAt + slots * Layout.SLOT_SIZE;
        long abandonedAt = passedAt + slots * Layout.WORD_SIZE;
        long payloadAt = Layout.roundUp(abandonedAt + slots * Layout.WORD_SIZE, Layout.PAGE);
        long cursorsAt = Layout.PAGE + READERS * Layout.READER_SIZE;
        long readersSize = Layout.roundUp(cursorsAt + CURSORS * Layout.CURSOR_SIZE, Layout.PAGE);
        long generation = new SecureRandom().nextLong() | 1;

        ByteBuffer ring = header(Layout.RING_MAGIC, generation, payloadAt + capacity);
        ring.putLong(Layout.RH_SLOT_COUNT, slots).putLong(Layout.RH_CAPACITY, capacity);
        ring.putLong(Layout.RH_WRITERS_OFFSET, Layout.PAGE).putLong(Layout.RH_SLOTS_OFFSET, slotsAt);
        ring.putLong(Layout.RH_PASSED_OFFSET, passedAt).putLong(Layout.RH_ABANDONED_OFFSET, abandonedAt);
        ring.putLong(Layout.RH_PAYLOAD_OFFSET, payloadAt).putInt(Layout.RH_WRITER_COUNT, WRITERS);
        ring.putInt(Layout.RH_READER_COUNT, READERS).putInt(Layout.RH_CURSOR_COUNT, CURSORS);
        ring.putInt(Layout.RH_DELIVERY, RELIABLE).putInt(Layout.RH_CREATOR_PID, (int) ProcessHandle.current().pid());
        ring.putLong(Layout.RH_CREATED_NS, Clock.wallNs()).put(Layout.RH_BOOT_ID, Topic.bootId());

        ByteBuffer readers = header(Layout.READERS_MAGIC, generation, readersSize);
        readers.putLong(Layout.DH_READERS_OFFSET, Layout.PAGE).putLong(Layout.DH_CURSORS_OFFSET, cursorsAt);
        readers.putInt(Layout.DH_READER_COUNT, READERS).putInt(Layout.DH_CURSOR_COUNT, CURSORS);

        Path nameless = directory.resolve(name + ".new.readers");
        write(directory.resolve(name + ".readers"), readers, readersSize, writableByReaders(mode));
        write(nameless, ring, payloadAt + capacity, mode);
        Files.createLink(directory.resolve(name + ".ring"), nameless);
        Files.delete(nameless);
    }

    /** Without the futex call (Waker), a sleeper notices {@code removed} only when its slice ends. */
    static void remove(Path directory, String name, Topic topic) throws IOException {
        Files.deleteIfExists(directory.resolve(name + ".ring"));
        Files.deleteIfExists(directory.resolve(name + ".readers"));
        topic.markRemoved();
        topic.waker.wake(topic.readers, Layout.DH_WAKE);
        topic.waker.wake(topic.readers, Layout.DH_SPACE);
    }

    private static ByteBuffer header(long magic, long generation, long fileSize) {
        ByteBuffer page = ByteBuffer.allocate(Layout.PAGE).order(ByteOrder.LITTLE_ENDIAN);
        page.putLong(Layout.H_MAGIC, magic).putInt(Layout.H_VERSION, Layout.LAYOUT_VERSION);
        page.putInt(Layout.H_PAGE_SIZE, Layout.PAGE).putLong(Layout.H_LAYOUT_HASH, Layout.LAYOUT_HASH);
        return page.putLong(Layout.H_GENERATION, generation).putLong(Layout.H_FILE_SIZE, fileSize);
    }

    private static Set<PosixFilePermission> writableByReaders(Set<PosixFilePermission> mode) {
        Set<PosixFilePermission> wider = EnumSet.copyOf(mode);
        if (mode.contains(PosixFilePermission.GROUP_READ)) {
            wider.add(PosixFilePermission.GROUP_WRITE);
        }
        if (mode.contains(PosixFilePermission.OTHERS_READ)) {
            wider.add(PosixFilePermission.OTHERS_WRITE);
        }
        return wider;
    }

    /** Every byte is written, so that a full file system is an error here and not a SIGBUS later. */
    private static void write(Path path, ByteBuffer first, long size, Set<PosixFilePermission> mode) throws IOException {
        Set<StandardOpenOption> how = EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        var owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        try (FileChannel file = FileChannel.open(path, how, owner)) {
            ByteBuffer zeros = ByteBuffer.allocate(Layout.PAGE);
            for (long at = 0; at < size; at += Layout.PAGE) {
                file.write(at == 0 ? first.rewind() : zeros.rewind(), at);
            }
        }
        Files.setPosixFilePermissions(path, mode);
    }
}
