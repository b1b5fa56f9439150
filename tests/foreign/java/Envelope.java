// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** The messages of docs/spec/call.fbs that a client reads and writes. */
final class Envelope {
    static final int HELLO = 1; // numbers of the union
    static final int CALL = 2;
    static final int CANCEL = 3;
    static final int CREDIT = 4;
    static final int RESULT = 5;
    static final int PART = 6;
    static final int CHUNK = 7;
    static final int END = 8;
    static final int ERROR = 9;
    private static final String IDENTIFIER = "SLRC";
    private static final int HEAD = 8; // offset of the root, identifier

    final long reqId;
    final int kind;
    private final Flat.Table payload;

    private Envelope(long reqId, int kind, Flat.Table payload) {
        this.reqId = reqId;
        this.kind = kind;
        this.payload = payload;
    }

    static Envelope read(byte[] bytes) {
        Flat.Table message = Flat.Table.root(bytes, IDENTIFIER);
        return new Envelope(message.u64(0), message.u8(1), message.table(2));
    }

    record Hello(int version, long instance, long incarnation, String codec) {}

    record Error(int reason, String type, String message) {}

    Hello hello() {
        return new Hello(payload.u32(0), payload.u64(1), payload.u64(2), text(3));
    }

    Error error() {
        return new Error(payload.u8(0), text(1), text(2));
    }

    /** Of Result and Part. */
    byte[] value() {
        return required(0);
    }

    long chunkTotal() {
        return payload.u64(0);
    }

    byte[] chunkData() {
        return required(1);
    }

    private byte[] required(int field) {
        byte[] bytes = payload.bytes(field);
        if (bytes == null) {
            throw new Flat.Malformed("a value is absent");
        }
        return bytes;
    }

    private String text(int field) {
        byte[] bytes = payload.bytes(field);
        return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
    }

    static byte[] call(
            long reqId, long server, long deadlineNs, long maxAnswer, int window, String method, byte[] arguments) {
        return message(
                reqId,
                CALL,
                7,
                Flat.Field.scalar(0, 8, server),
                Flat.Field.scalar(1, 8, deadlineNs),
                Flat.Field.scalar(2, 8, maxAnswer),
                Flat.Field.scalar(3, 4, window),
                Flat.Field.vector(4, method.getBytes(StandardCharsets.UTF_8)),
                Flat.Field.vector(5, arguments));
    }

    static byte[] cancel(long reqId) {
        return message(reqId, CANCEL, 0);
    }

    static byte[] credit(long reqId, int messages) {
        return message(reqId, CREDIT, 1, Flat.Field.scalar(0, 4, messages));
    }

    /** The root table and, behind it at a multiple of 8, the payload. */
    private static byte[] message(long reqId, int kind, int fieldCount, Flat.Field... fields) {
        byte[] root =
                Flat.table(
                        3,
                        Flat.Field.scalar(0, 8, reqId),
                        Flat.Field.scalar(1, 1, kind),
                        Flat.Field.scalar(2, 4, 0)); // the offset is known when the payload has a place
        byte[] payload = Flat.table(fieldCount, fields);
        ByteBuffer out = ByteBuffer.allocate(HEAD + root.length + payload.length).order(ByteOrder.LITTLE_ENDIAN);
        int rootAt = HEAD + Flat.start(3);
        out.putInt(0, rootAt).put(4, IDENTIFIER.getBytes(StandardCharsets.US_ASCII));
        out.put(HEAD, root).put(HEAD + root.length, payload);
        int offsetAt = rootAt + 12; // after the table's own offset and req_id
        out.putInt(offsetAt, HEAD + root.length + Flat.start(fieldCount) - offsetAt);
        return out.array();
    }
}
