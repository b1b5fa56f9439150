// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The codec "msgpack": null, Boolean, Long, Double, String, byte[], List and Map. */
final class Msgpack {
    private static final int DEEPEST = 64;

    private Msgpack() {}

    static byte[] encode(Object value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            write(new DataOutputStream(bytes), value);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }

    private static void write(DataOutputStream out, Object value) throws IOException {
        if (value == null) {
            out.writeByte(0xc0);
        } else if (value instanceof Boolean truth) {
            out.writeByte(truth ? 0xc3 : 0xc2);
        } else if (value instanceof Long number) {
            out.writeByte(0xd3);
            out.writeLong(number);
        } else if (value instanceof Double number) {
            out.writeByte(0xcb);
            out.writeDouble(number);
        } else if (value instanceof String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            head(out, 0xdb, bytes.length);
            out.write(bytes);
        } else if (value instanceof byte[] bytes) {
            head(out, 0xc6, bytes.length);
            out.write(bytes);
        } else if (value instanceof List<?> list) {
            head(out, 0xdd, list.size());
            for (Object item : list) {
                write(out, item);
            }
        } else if (value instanceof Map<?, ?> map) {
            head(out, 0xdf, map.size());
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                write(out, entry.getKey());
                write(out, entry.getValue());
            }
        } else {
            throw new IllegalArgumentException("no msgpack for " + value.getClass());
        }
    }

    private static void head(DataOutputStream out, int kind, int size) throws IOException {
        out.writeByte(kind);
        out.writeInt(size);
    }

    static Object decode(byte[] bytes) {
        try {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            Object value = read(in, 0);
            if (in.hasRemaining()) {
                throw new Flat.Malformed("bytes behind a msgpack value");
            }
            return value;
        } catch (BufferUnderflowException cut) {
            throw new Flat.Malformed("a msgpack value cut off");
        }
    }

    private static Object read(ByteBuffer in, int depth) {
        int kind = in.get() & 0xff;
        if (kind < 0x80 || kind >= 0xe0) {
            return (long) (byte) kind;
        } else if (kind < 0x90) {
            return map(in, kind & 0x0f, depth);
        } else if (kind < 0xa0) {
            return list(in, kind & 0x0f, depth);
        } else if (kind < 0xc0) {
            return text(in, kind & 0x1f);
        }
        return switch (kind) {
            case 0xc0 -> null;
            case 0xc2 -> Boolean.FALSE;
            case 0xc3 -> Boolean.TRUE;
            case 0xc4 -> bytes(in, in.get() & 0xff);
            case 0xc5 -> bytes(in, in.getShort() & 0xffff);
            case 0xc6 -> bytes(in, in.getInt());
            case 0xca -> (double) in.getFloat();
            case 0xcb -> in.getDouble();
            case 0xcc -> (long) (in.get() & 0xff);
            case 0xcd -> (long) (in.getShort() & 0xffff);
            case 0xce -> in.getInt() & 0xffffffffL;
            case 0xcf, 0xd3 -> in.getLong();
            case 0xd0 -> (long) in.get();
            case 0xd1 -> (long) in.getShort();
            case 0xd2 -> (long) in.getInt();
            case 0xd9 -> text(in, in.get() & 0xff);
            case 0xda -> text(in, in.getShort() & 0xffff);
            case 0xdb -> text(in, in.getInt());
            case 0xdc -> list(in, in.getShort() & 0xffff, depth);
            case 0xdd -> list(in, in.getInt(), depth);
            case 0xde -> map(in, in.getShort() & 0xffff, depth);
            case 0xdf -> map(in, in.getInt(), depth);
            default -> throw new Flat.Malformed("an unknown msgpack kind");
        };
    }

    private static byte[] bytes(ByteBuffer in, int size) {
        check(in, size, 0);
        byte[] bytes = new byte[size];
        in.get(bytes);
        return bytes;
    }

    private static String text(ByteBuffer in, int size) {
        return new String(bytes(in, size), StandardCharsets.UTF_8);
    }

    private static List<Object> list(ByteBuffer in, int size, int depth) {
        check(in, size, depth);
        List<Object> list = new ArrayList<>();
        for (int k = 0; k < size; k++) {
            list.add(read(in, depth + 1));
        }
        return list;
    }

    private static Map<Object, Object> map(ByteBuffer in, int size, int depth) {
        check(in, size, depth);
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int k = 0; k < size; k++) {
            Object key = read(in, depth + 1);
            map.put(key, read(in, depth + 1));
        }
        return map;
    }

    private static void check(ByteBuffer in, int size, int depth) {
        if (size < 0 || size > in.remaining() || depth > DEEPEST) {
            throw new Flat.Malformed("a msgpack value larger than its bytes, or too deep");
        }
    }
}
