// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * As much of FlatBuffers as the envelope of calls needs, by hand: reading a table whose every offset is checked first,
 * and writing a table of scalars and byte vectors.
 */
final class Flat {
    /** Bytes that are not a FlatBuffer of the schema. */
    @SuppressWarnings("serial")
    static final class Malformed extends RuntimeException {
        Malformed(String what) {
            super(what);
        }
    }

    /** A table in a buffer. Fields are numbered from 0 in the order of the schema; a union takes two numbers. */
    static final class Table {
        private final ByteBuffer in;
        private final int at;
        private final int size;
        private final int vtable;
        private final int fields;

        private Table(ByteBuffer in, long at) {
            this.in = in;
            this.at = inside(in, at, 4);
            vtable = inside(in, at - in.getInt(this.at), 4);
            int vtableSize = in.getShort(vtable) & 0xffff;
            size = in.getShort(vtable + 2) & 0xffff;
            inside(in, vtable, vtableSize);
            inside(in, at, size);
            if (vtableSize < 4 || vtableSize % 2 != 0 || size < 4) {
                throw new Malformed("a vtable of " + vtableSize + " bytes, a table of " + size);
            }
            fields = (vtableSize - 4) / 2;
        }

        static Table root(byte[] bytes, String identifier) {
            ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            inside(in, 0, 8);
            if (!Arrays.equals(bytes, 4, 8, identifier.getBytes(), 0, 4)) {
                throw new Malformed("another file identifier");
            }
            return new Table(in, in.getInt(0) & 0xffffffffL);
        }

        private static int inside(ByteBuffer in, long from, long length) {
            if (from < 0 || length < 0 || from > in.capacity() - length) {
                throw new Malformed("a place outside the buffer");
            }
            return (int) from;
        }

        /** Where a field of so many bytes is, or -1 if it is absent. */
        private int place(int field, int bytes) {
            int offset = field < fields ? in.getShort(vtable + 4 + 2 * field) & 0xffff : 0;
            if (offset == 0) {
                return -1;
            }
            if (offset < 4 || offset + bytes > size) {
                throw new Malformed("a field outside its table");
            }
            return at + offset;
        }

        int u8(int field) {
            int place = place(field, 1);
            return place < 0 ? 0 : in.get(place) & 0xff;
        }

        int u32(int field) {
            int place = place(field, 4);
            return place < 0 ? 0 : in.getInt(place);
        }

        long u64(int field) {
            int place = place(field, 8);
            return place < 0 ? 0 : in.getLong(place);
        }

        Table table(int field) {
            int place = place(field, 4);
            if (place < 0) {
                throw new Malformed("a table is absent");
            }
            return new Table(in, place + (in.getInt(place) & 0xffffffffL));
        }

        /** A vector of bytes or a text; null if it is absent. */
        byte[] bytes(int field) {
            int place = place(field, 4);
            if (place < 0) {
                return null;
            }
            int vector = inside(in, place + (in.getInt(place) & 0xffffffffL), 4);
            long length = in.getInt(vector) & 0xffffffffL;
            int first = inside(in, vector + 4L, length);
            return Arrays.copyOfRange(in.array(), first, first + (int) length);
        }
    }

    /** A field to be written: a scalar of so many bytes, or (size 4) the offset of something behind the table. */
    record Field(int number, int size, long value, byte[] vector) {
        static Field scalar(int number, int size, long value) {
            return new Field(number, size, value, null);
        }

        static Field vector(int number, byte[] bytes) {
            return new Field(number, 4, 0, bytes);
        }
    }

    private Flat() {}

    /**
     * A table with its vtable before it and its vectors behind it. The bytes must be placed at a multiple of 8; the table
     * then begins at {@link #start}, which is 4 more than a multiple of 8, so that the first scalars of 8 bytes fit.
     */
    static byte[] table(int fieldCount, Field... fields) {
        Field[] bySize = fields.clone();
        Arrays.sort(bySize, (a, b) -> b.size() - a.size()); // large scalars first: no padding in between
        int start = start(fieldCount);
        int end = 4 + Arrays.stream(bySize).mapToInt(Field::size).sum();
        int total = start + end;
        for (Field field : bySize) {
            total = field.vector() == null ? total : (total + 3 & ~3) + 4 + field.vector().length + 1;
        }
        ByteBuffer out = ByteBuffer.allocate(total + 7 & ~7).order(ByteOrder.LITTLE_ENDIAN);
        int vtable = start - (4 + 2 * fieldCount);
        out.putShort(vtable, (short) (4 + 2 * fieldCount)).putShort(vtable + 2, (short) end).putInt(start, start - vtable);
        int offset = 4;
        int behind = start + end;
        for (Field field : bySize) {
            out.putShort(vtable + 4 + 2 * field.number(), (short) offset);
            int place = start + offset;
            offset += field.size();
            if (field.vector() != null) {
                behind = behind + 3 & ~3;
                out.putInt(place, behind - place).putInt(behind, field.vector().length).put(behind + 4, field.vector());
                behind += 4 + field.vector().length + 1; // a text ends with a zero, a vector may
            } else if (field.size() == 8) {
                out.putLong(place, field.value());
            } else if (field.size() == 4) {
                out.putInt(place, (int) field.value());
            } else {
                out.put(place, (byte) field.value());
            }
        }
        return out.array();
    }

    /** Where a table of so many fields begins in its bytes. */
    static int start(int fieldCount) {
        return ((4 + 2 * fieldCount) + 3 & ~7) + 4;
    }
}
