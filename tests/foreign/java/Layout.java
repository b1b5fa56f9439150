// SPDX-License-Identifier: Apache-2.0

/** The numbers of docs/spec/memory-layout.md, typed in by hand: sections 2 and 3. */
final class Layout {
    static final long RING_MAGIC = 0x31474e5250494c53L;
    static final long READERS_MAGIC = 0x3152445250494c53L;
    static final long LAYOUT_HASH = 0xcac9ff5e7b6ff6a7L;
    static final int LAYOUT_VERSION = 4;
    static final int PAGE = 4096;

    static final int WRITER_SIZE = 128;
    static final int SLOT_SIZE = 32;
    static final int READER_SIZE = 128;
    static final int CURSOR_SIZE = 128;
    static final int WORD_SIZE = 8;

    static final int FREE = 0; // of a slot
    static final int CLAIMED = 1;
    static final int READY = 2;
    static final int GONE = 3;

    static final int KIND_FREE = 0; // of a table entry
    static final int KIND_LOSSY = 1;
    static final int KIND_RELIABLE = 2;
    static final int KIND_CURSOR = 3;
    static final int KIND_WRITER = 4;
    static final long NO_HOLD = -1;

    static final long MIN_CAPACITY = 4096;
    static final long MAX_CAPACITY = 0x10000000000L;
    static final long MIN_SLOTS = 16;
    static final long MAX_SLOTS = 0x10000000;
    static final int MAX_WRITERS = 4096;
    static final int MAX_READERS = 65536;
    static final int MAX_CURSORS = 4096;
    static final int MAX_SCHEMA = 1048576;
    static final int MAX_NAME = 255; // bytes of a type, and of a sender

    static final int H_MAGIC = 0; // both headers
    static final int H_VERSION = 8;
    static final int H_PAGE_SIZE = 12;
    static final int H_LAYOUT_HASH = 16;
    static final int H_GENERATION = 24;
    static final int H_FILE_SIZE = 32;

    static final int RH_SLOT_COUNT = 40; // ring_header
    static final int RH_CAPACITY = 48;
    static final int RH_WRITERS_OFFSET = 56;
    static final int RH_SLOTS_OFFSET = 64;
    static final int RH_PASSED_OFFSET = 72;
    static final int RH_ABANDONED_OFFSET = 80;
    static final int RH_PAYLOAD_OFFSET = 88;
    static final int RH_WRITER_COUNT = 96;
    static final int RH_READER_COUNT = 100;
    static final int RH_CURSOR_COUNT = 104;
    static final int RH_DELIVERY = 108;
    static final int RH_WRITERS = 112;
    static final int RH_CREATOR_PID = 116;
    static final int RH_CREATED_NS = 120;
    static final int RH_BOOT_ID = 128;
    static final int RH_CONTENT = 144;
    static final int RH_SCHEMA_SIZE = 148;
    static final int RH_SCHEMA_HASH = 152;
    static final int RH_REMOVED = 192;
    static final int RH_TAIL = 256;
    static final int RH_OLDEST = 320;
    static final int RH_FREED = 384;

    static final int DH_READERS_OFFSET = 40; // readers_header
    static final int DH_CURSORS_OFFSET = 48;
    static final int DH_READER_COUNT = 56;
    static final int DH_CURSOR_COUNT = 60;
    static final int DH_WAKE = 64;
    static final int DH_CANNOT_WAKE = 72;
    static final int DH_SPACE = 128;
    static final int DH_HIGH_READER = 192;
    static final int DH_HIGH_CURSOR = 196;

    static final int W_STATE = 0; // writer
    static final int W_ANNOUNCED = 8;
    static final int W_PUBLISHED = 16;
    static final int W_BYTES = 24;
    static final int W_PUBLISHED_BEFORE = 32;
    static final int W_BYTES_BEFORE = 40;
    static final int W_PID = 48;
    static final int W_NAME_SIZE = 52;
    static final int W_NAME = 56;
    static final int W_NAME_BYTES = 64;

    static final int S_WORD = 0; // slot
    static final int S_END = 8;
    static final int S_TIME_NS = 16;
    static final int S_LENGTHS = 24;

    static final int R_STATE = 0; // reader
    static final int R_HOLD = 8;
    static final int R_POSITION = 16;
    static final int R_RECEIVED = 24;
    static final int R_LOST = 32;
    static final int R_FILTERED = 40;
    static final int R_PID = 48;
    static final int R_SINCE_NS = 56;
    static final int R_HELD = 64;
    static final int R_POOL = 72;

    static final int C_STATE = 0; // cursor
    static final int C_POSITION = 8;
    static final int C_TOUCHED_NS = 16;
    static final int C_EXPIRES_NS = 24;

    static final int SLEEPING = 1; // parts of a futex word, section 3.4
    static final int WAKING = 2;
    static final int COUNT_ONE = 4;

    private Layout() {}

    /** Section 3.1: the word of a slot. */
    static long word(int state, int writer, long lap) {
        return state | (long) writer << 2 | lap << 16;
    }

    static int state(long word) {
        return (int) word & 3;
    }

    static int writer(long word) {
        return (int) (word >>> 2) & 0x3fff;
    }

    static long lap(long word) {
        return word >>> 16;
    }

    /** Section 3.3: the state of a table entry. */
    static int kind(long state) {
        return (int) state & 0xff;
    }

    static long next(long state, int kind) {
        return ((state >>> 8) + 1) << 8 | kind;
    }

    static long roundUp(long x, long unit) {
        return (x + unit - 1) / unit * unit;
    }

    /** Section 5: the bytes that a message reserves. */
    static long reserved(long body, long meta) {
        return Math.max(8, roundUp(body, 8) + roundUp(meta, 8));
    }
}
