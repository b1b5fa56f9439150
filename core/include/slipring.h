/* SPDX-License-Identifier: Apache-2.0
 *
 * Slipring: a shared-memory message bus for the processes of one host.
 *
 * A bus is a directory. A name in it belongs to one kind of thing:
 *
 *   messages   a topic: publishers append messages, subscribers read them at their own pace. Two files
 *   frames     a topic whose messages announce large arrays in a pool of buffers. Three files
 *   cells      the newest values of one writer for one reader. One file
 *
 * A process may be killed at any instruction; the other processes continue.
 *
 *     slipring_publisher *pub;
 *     slipring_publisher_open("/dev/shm/slipring-0/robot", "imu", "gyro", 4, NULL, &pub);
 *     slipring_publisher_send(pub, "hello", 5, "text", 4, SLIPRING_NOW, NULL);
 *
 * Functions return SLIPRING_OK or a negative code; slipring_last_error() then returns the details. Deadlines are
 * CLOCK_MONOTONIC nanoseconds; slipring_deadline() computes them.
 *
 * Caveats
 * - One thread at a time may use a handle. Two handles are independent. Any thread may call a function named
 *   slipring_*_interrupt.
 * - A handle does not survive fork(): in the child, functions that return a code return SLIPRING_FORKED.
 * - A pointer from a view or a claim is valid until the view is released or the claim is committed or aborted.
 * - A process with write permission can truncate the files and so kill their users by SIGBUS. File modes are the access
 *   control. No other contents of the files do harm: damaged contents lead to SLIPRING_CORRUPT.
 */
#ifndef SLIPRING_H
#define SLIPRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLIPRING_NOW INT64_C(0)
#define SLIPRING_FOREVER INT64_MAX
#define SLIPRING_MAX_NAME 100
#define SLIPRING_MAX_TYPE 255
#define SLIPRING_MAX_SENDER 255
#define SLIPRING_MAX_CURSOR_NAME 63
#define SLIPRING_MAX_SCHEMA 1048576

/* X(code, number): one code for each cause. */
#define SLIPRING_CODES(X)          \
    X(SLIPRING_OK, 0)              \
    X(SLIPRING_EMPTY, -1)          \
    X(SLIPRING_NOT_FOUND, -2)      \
    X(SLIPRING_EXISTS, -3)         \
    X(SLIPRING_TOPIC_GONE, -4)     \
    X(SLIPRING_WRONG_LAYOUT, -5)   \
    X(SLIPRING_CORRUPT, -6)        \
    X(SLIPRING_DENIED, -7)         \
    X(SLIPRING_BUSY, -8)           \
    X(SLIPRING_FULL, -9)           \
    X(SLIPRING_TOO_LARGE, -10)     \
    X(SLIPRING_TIMEOUT, -11)       \
    X(SLIPRING_CLOSED, -12)        \
    X(SLIPRING_TOO_MANY_READERS, -13) \
    X(SLIPRING_TOO_MANY_WRITERS, -14) \
    X(SLIPRING_FORKED, -15)        \
    X(SLIPRING_BAD_ARGUMENT, -16)  \
    X(SLIPRING_NO_SPACE, -17)      \
    X(SLIPRING_SYSTEM, -18)        \
    X(SLIPRING_INTERRUPTED, -19)   \
    X(SLIPRING_LAPPED, -20)           \
    X(SLIPRING_SCHEMA_MISMATCH, -21)

#define SLIPRING_ENUM(code, number) code = number,
enum slipring_code { SLIPRING_CODES(SLIPRING_ENUM) };
#undef SLIPRING_ENUM

typedef struct slipring_error {
    int code;
    int system_errno;   /* 0 unless a system call failed */
    char argument[32];  /* the argument to change, or "" */
    char found[64];     /* SLIPRING_EXISTS, SLIPRING_SCHEMA_MISMATCH: the existing value */
    char asked[64];     /* the same: the requested value */
    char message[320];
} slipring_error;

const slipring_error *slipring_last_error(void); /* of this thread */
/* The deadline in timeout_s seconds; 0: SLIPRING_NOW; negative: SLIPRING_FOREVER. */
int64_t slipring_deadline(double timeout_s);

/* Topics ---------------------------------------------------------------------------------------------------- */

enum { SLIPRING_LOSSY = 0, SLIPRING_RELIABLE = 1 };
enum { SLIPRING_WRITERS_MANY = 0, SLIPRING_WRITERS_ONE = 1 };
enum { SLIPRING_MESSAGES = 0, SLIPRING_FRAMES = 1 };

typedef struct slipring_settings {
    /* 0, or -1 for delivery and writers: the value of an existing topic, or the default for a new one. */
    uint64_t capacity;    /* bytes of payload, rounded up to a power of two */
    uint64_t slots;       /* messages, rounded up to a power of two; default: derived from capacity */
    int delivery;         /* default: lossy */
    int writers;          /* default: many */
    uint32_t max_readers; /* default: 64 */
    uint32_t max_writers; /* default: 64 */
    uint32_t max_cursors; /* default: 16 */
    uint32_t mode;        /* permissions of <topic>.ring; default: 0600 */
    int content;          /* SLIPRING_MESSAGES, or SLIPRING_FRAMES: the messages announce frames, see below */
    bool must_exist;      /* for a publisher: return NOT_FOUND for a missing topic instead of creating it */
    const void *schema;   /* stored with a new topic; an existing topic must have the same bytes. NULL: none, or any */
    size_t schema_size;   /* at most SLIPRING_MAX_SCHEMA */
} slipring_settings;

#define SLIPRING_SETTINGS_DEFAULT {0, 0, -1, -1, 0, 0, 0, 0, SLIPRING_MESSAGES, false, NULL, 0}
#define SLIPRING_SETTINGS_FRAMES \
    {1 << 20, 4096, SLIPRING_LOSSY, SLIPRING_WRITERS_ONE, 0, 0, 0, 0, SLIPRING_FRAMES, false, NULL, 0}

int slipring_topic_create(const char *bus, const char *topic, const slipring_settings *settings, bool exist_ok);
int slipring_topic_remove(const char *bus, const char *topic);
/* Report in *half whether some files of the topic exist and others are missing: a process died while it created or removed
 * the topic, or a file was deleted by hand. With repair, delete the remaining files. */
int slipring_topic_repair(const char *bus, const char *topic, bool repair, bool *half);
int slipring_check_name(const char *argument, const char *name); /* OK or BAD_ARGUMENT */

/* Publishing ------------------------------------------------------------------------------------------------ */

typedef struct slipring_publisher slipring_publisher;

typedef struct slipring_claim {
    uint64_t seq;
    void *body; /* write the message here, then commit or abort */
    size_t size;
    uint64_t reserved_start; /* private */
} slipring_claim;

typedef struct slipring_body {
    const void *data;
    size_t size;
} slipring_body;

/* Open a publisher and create a missing topic. settings NULL: accept an existing topic with any settings. */
int slipring_publisher_open(const char *bus, const char *topic, const char *sender, size_t sender_size,
                            const slipring_settings *settings, slipring_publisher **out);
void slipring_publisher_close(slipring_publisher *pub); /* aborts open claims */

int slipring_publisher_send(slipring_publisher *pub, const void *body, size_t size, const char *type,
                            size_t type_size, int64_t deadline_ns, uint64_t *seq);
/* Send with the name of another sender and its time, for programs that forward messages. time_ns 0: now. */
int slipring_publisher_send_as(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                               const char *sender, size_t sender_size, int64_t time_ns, int64_t deadline_ns, uint64_t *seq);
/* Send as send_as without waiting, and call callback before the message becomes readable. callback receives the sequence
 * of the message. If it does not return 0, the message is aborted and its value is returned. So a record that callback
 * writes exists for every message that was ever readable, wherever the process is killed. */
typedef int (*slipring_precommit)(void *context, uint64_t seq);
int slipring_publisher_send_precommit(slipring_publisher *pub, const void *body, size_t size, const char *type,
                                  size_t type_size, const char *sender, size_t sender_size, int64_t time_ns,
                                  slipring_precommit callback, void *context, uint64_t *seq);
/* Check whether a body of that size and type can be sent to this topic: OK, TOO_LARGE, BAD_ARGUMENT … */
int slipring_publisher_check(slipring_publisher *pub, size_t size, const char *type, size_t type_size);
/* Send the first bodies until one cannot be sent, without waiting. *sent is their number. Returns OK if all were sent,
 * otherwise the reason. */
int slipring_publisher_try_send_many(slipring_publisher *pub, const slipring_body *bodies, size_t count,
                                     const char *type, size_t type_size, size_t *sent, uint64_t *last_seq);
int slipring_publisher_claim(slipring_publisher *pub, size_t size, const char *type, size_t type_size,
                             int64_t deadline_ns, slipring_claim *out);
int slipring_publisher_commit(slipring_publisher *pub, const slipring_claim *claim);
int slipring_publisher_abort(slipring_publisher *pub, const slipring_claim *claim);
/* After SLIPRING_FULL, sleep until a message of the same size may fit. OK (try again), TIMEOUT, INTERRUPTED, CLOSED or
 * TOPIC_GONE. */
int slipring_publisher_wait_space(slipring_publisher *pub, int64_t deadline_ns);
int slipring_publisher_subscribers(slipring_publisher *pub); /* number of live readers in the table, or a code */
uint32_t slipring_publisher_max_subscribers(const slipring_publisher *pub); /* entries of the reader table */
bool slipring_publisher_reliable(const slipring_publisher *pub);
void slipring_publisher_interrupt(slipring_publisher *pub);  /* waits return SLIPRING_CLOSED */
/* The schema of the topic, as its creator gave it: docs/spec/schema.md. *size is its size, 0 without one. It is copied into buffer
 * if it fits into room; room 0 asks for the size alone. CORRUPT: its bytes are damaged. */
int slipring_publisher_schema(const slipring_publisher *pub, void *buffer, size_t room, size_t *size);
/* The entry of the publisher in the writer table and the first sequence for which it owns it: see slipring_filter. */
uint32_t slipring_publisher_entry(const slipring_publisher *pub, uint64_t *since_seq);

/* Subscribing ----------------------------------------------------------------------------------------------- */

typedef struct slipring_subscriber slipring_subscriber;

enum { SLIPRING_START_NEW = 0, SLIPRING_START_LAST = 1, SLIPRING_START_OLDEST = 2, SLIPRING_START_SEQ = 3 };

typedef struct slipring_text {
    const char *data;
    size_t size;
} slipring_text;

typedef struct slipring_filter { /* all zero: no filter. Opening copies it */
    const slipring_text *types; /* with only_types: the types to receive */
    size_t type_count;
    bool only_types;
    const slipring_text *ignore_types;
    size_t ignore_type_count;
    const slipring_text *ignore_senders;
    size_t ignore_sender_count;
    bool ignore_own; /* ignore messages of writer entry own_entry from sequence own_since on */
    uint32_t own_entry;
    uint64_t own_since;
} slipring_filter;

typedef struct slipring_subscriber_settings {
    int start;
    uint64_t start_seq;
    int lossy; /* 1, 0, or -1: as the topic delivers */
    bool conflate;
    const char *cursor; /* NULL: none */
    int64_t expires_ns; /* unused time after which a new cursor is deleted; 0: never */
    const slipring_filter *filter;
} slipring_subscriber_settings;

typedef struct slipring_message {
    uint64_t seq;
    int64_t time_ns;
    const void *body; /* in shared memory */
    const void *meta; /* in shared memory: type, then sender */
    uint32_t size;
    uint8_t type_size;
    uint8_t sender_size;
} slipring_message;

typedef struct slipring_counts {
    uint64_t received, lost, filtered, position, tail;
    int entry;     /* in the reader table; -1: none */
    bool reliable; /* no message is reclaimed before this subscriber has passed it */
} slipring_counts;

int slipring_subscriber_open(const char *bus, const char *topic, const slipring_subscriber_settings *how,
                             slipring_subscriber **out);
void slipring_subscriber_close(slipring_subscriber *sub);

/* Reading by copy: peek returns the next message in shared memory, or EMPTY. A writer may overwrite it at any time. Copy it
 * with slipring_copy and use the copy only if accept then returns OK, which also advances the position. If accept returns
 * LAPPED, the copy is invalid and the loss is counted: peek again. */
int slipring_subscriber_peek(slipring_subscriber *sub, slipring_message *out);
int slipring_subscriber_accept(slipring_subscriber *sub);
/* Check whether the peeked message is still intact. If not, the fields that peek returned may be wrong, too. */
bool slipring_subscriber_intact(const slipring_subscriber *sub);
void slipring_copy(void *to, const void *shared, size_t size);
/* Show up to limit messages in shared memory to sink, which copies them and returns false to stop before a message. *taken is
 * the number of accepted messages: the first *taken that sink was shown. If *taken is 0, the code is the reason: EMPTY,
 * LAPPED (discard what sink has copied and call again) … */
typedef bool (*slipring_sink)(void *context, const slipring_message *message);
int slipring_subscriber_drain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *taken);
/* Copy messages into the arrays of the caller, one array for each field, from row `rows` on. Copies consecutive messages of this
 * type and sender while they fit, at most limit, which must not exceed the available messages. Returns their number. 0 has
 * no special meaning: drain or peek reports the state. */
typedef struct slipring_columns {
    size_t rows;
    int64_t *seqs, *times_ns; /* NULL: not copied */
    int32_t *ends;            /* end of each body in data; NULL if data is NULL */
    uint8_t *data;            /* NULL: bodies are not copied */
    size_t data_used, data_room; /* data_room: at most INT32_MAX */
    const uint64_t *meta_words; /* type, then sender, then zeros up to a whole word, as stored behind a body */
    uint8_t type_size, sender_size;
} slipring_columns;
size_t slipring_subscriber_take_columns(slipring_subscriber *sub, slipring_columns *columns, size_t limit);
/* Copy the next message into buffer: OK, EMPTY, TIMEOUT, TOO_LARGE (the message is kept, out->size is its size) … */
int slipring_subscriber_recv(slipring_subscriber *sub, void *buffer, size_t buffer_size, slipring_message *out,
                             char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8], int64_t deadline_ns);
/* Hold the next message: it stays unchanged in shared memory until it is released. Never waits. */
int slipring_subscriber_hold(slipring_subscriber *sub, slipring_message *out);
int slipring_subscriber_release(slipring_subscriber *sub, uint64_t seq);
/* Keep messages from seq on in the ring although they were read, until the next call with the same or a higher seq. For
 * programs that read ahead for another process. Start with the current position, also after a seek. Only for a reliable
 * subscriber without a cursor. */
int slipring_subscriber_keep(slipring_subscriber *sub, uint64_t seq);

int slipring_subscriber_seek(slipring_subscriber *sub, int start, uint64_t start_seq);
int slipring_subscriber_commit(slipring_subscriber *sub, uint64_t position); /* cursor only */
void slipring_subscriber_counts(slipring_subscriber *sub, slipring_counts *out);
void slipring_subscriber_interrupt(slipring_subscriber *sub); /* waits return SLIPRING_CLOSED */
int slipring_subscriber_schema(const slipring_subscriber *sub, void *buffer, size_t room, size_t *size); /* as of a publisher */

/* A bell wakes a wait from another thread of the same process. */
typedef struct slipring_bell {
    uint32_t rings;
} slipring_bell;
void slipring_bell_ring(slipring_bell *bell);

/* Wait until one of the subscribers may have a message or the count of the bell differs from seen_rings. Spin for spin_ns,
 * then sleep. OK (peek; if there is no message, call again), TIMEOUT, INTERRUPTED (a signal arrived), CLOSED or
 * TOPIC_GONE. All subscribers must be of this process; count may be 0. */
int slipring_wait(slipring_subscriber *const *subs, size_t count, slipring_bell *bell, uint32_t seen_rings,
                  int64_t deadline_ns, int64_t spin_ns);

/* Frames: large arrays in a pool of buffers ------------------------------------------------------------------ */

/* A frames topic has a third file with the buffers; its messages announce which buffer holds which frame. A writer uses a
 * publisher opened with SLIPRING_SETTINGS_FRAMES, a reader uses a subscriber of the topic that has a table entry. Close
 * writer and reader first. A frame that a reader has taken does not change until it is released. The writer takes a
 * buffer that no reader holds, or returns FULL; it never waits. */

#define SLIPRING_MAX_STREAM 63
#define SLIPRING_MAX_STREAMS 16
#define SLIPRING_MAX_BUFFERS 64 /* of all streams together */
#define SLIPRING_MAX_DIMENSIONS 8
#define SLIPRING_MAX_DTYPE 95
#define SLIPRING_MAX_FRAME_META 16384

typedef struct slipring_stream {
    char name[SLIPRING_MAX_STREAM + 1];
    char dtype[SLIPRING_MAX_DTYPE + 1]; /* for the readers; the core does not interpret it */
    uint64_t shape[SLIPRING_MAX_DIMENSIONS];
    uint32_t dimensions, item_size, buffers;
} slipring_stream;

typedef struct slipring_frame_writer slipring_frame_writer;

typedef struct slipring_frame_buffer {
    uint32_t buffer;
    void *data; /* write the frame here, then send or abort */
    size_t size;
} slipring_frame_buffer;

typedef struct slipring_frame_message {
    int64_t start_ns, end_ns; /* 0: the time at which the buffer was taken; the time of sending */
    const void *meta;
    uint32_t meta_size, meta_kind;
} slipring_frame_message;

/* Open a frame writer with these streams, or with the existing streams if count is 0. Different streams create a new pool,
 * to which the readers change. */
int slipring_frame_writer_open(slipring_publisher *pub, const char *bus, const char *topic, const slipring_stream *streams,
                               size_t count, slipring_frame_writer **out);
/* Abort all taken buffers. Afterwards the publisher may be closed; the memory stays mapped until close. */
void slipring_frame_writer_stop(slipring_frame_writer *writer);
void slipring_frame_writer_close(slipring_frame_writer *writer);
const slipring_stream *slipring_frame_writer_streams(const slipring_frame_writer *writer, size_t *count);
int slipring_frame_writer_take(slipring_frame_writer *writer, uint32_t stream, slipring_frame_buffer *out);
int slipring_frame_writer_send(slipring_frame_writer *writer, uint32_t buffer, const slipring_frame_message *message,
                               uint64_t *id, uint64_t *seq);
int slipring_frame_writer_abort(slipring_frame_writer *writer, uint32_t buffer);

typedef struct slipring_frame_reader slipring_frame_reader;

typedef struct slipring_frame_reader_settings {
    const char *stream; /* NULL: all streams */
    int start;          /* NEW (since the subscriber was opened), LAST, OLDEST, or SEQ: the subscriber existed before the topic */
    bool conflate;
    const slipring_stream *insist; /* required shapes and types; name "": every stream; dimensions 0, dtype "": any */
    size_t insist_count;
} slipring_frame_reader_settings;

typedef struct slipring_frame {
    const void *data; /* in shared memory */
    size_t size;
    const slipring_stream *stream;
    const void *meta; /* valid until the next take */
    uint32_t meta_size, meta_kind;
    uint64_t id; /* number of the frame in its stream: consecutive, from 0 */
    uint64_t seq, run;
    int64_t time_ns, start_ns, end_ns;
    uint64_t token; /* for release */
} slipring_frame;

int slipring_frame_reader_open(slipring_subscriber *sub, const char *bus, const char *topic,
                               const slipring_frame_reader_settings *how, slipring_frame_reader **out);
void slipring_frame_reader_close(slipring_frame_reader *reader); /* unmaps frames that were not released */
/* Take and hold the next frame, or return EMPTY. Never waits: use slipring_wait with the subscriber. */
int slipring_frame_reader_take(slipring_frame_reader *reader, slipring_frame *out);
int slipring_frame_reader_release(slipring_frame_reader *reader, uint64_t token);
/* received + lost + filtered is the number of frames sent since the start of the reader; filtered: skipped by conflation. */
void slipring_frame_reader_counts(const slipring_frame_reader *reader, slipring_counts *out);
const slipring_stream *slipring_frame_reader_streams(const slipring_frame_reader *reader, size_t *count);

/* The state of a pool, read without opening a handle. */
typedef struct slipring_pool_info {
    uint64_t generation, file_bytes, runs;
    int64_t created_ns;
    uint32_t held[SLIPRING_MAX_STREAMS]; /* buffers of each stream that live readers hold */
    uint32_t stream_count;
    slipring_stream stream[SLIPRING_MAX_STREAMS];
} slipring_pool_info;
int slipring_pool_inspect(const char *bus, const char *topic, slipring_pool_info *out);

/* Cells: the newest values of one writer for one reader ------------------------------------------------------- */

typedef struct slipring_cells_settings {
    uint64_t item_size; /* bytes of an element; 0: open existing cells, create none */
    uint32_t depth;     /* elements kept for the reader; 0: the value of existing cells, or 4 */
    uint32_t mode;      /* permissions of <name>.cells; 0: 0600. Writer and reader both read and write it */
    const char *format; /* description of the elements, for their users; must match that of existing cells */
    size_t format_size; /* at most SLIPRING_MAX_FORMAT */
} slipring_cells_settings;
#define SLIPRING_MAX_FORMAT 2047

/* Create cells, or check that existing ones match the settings; otherwise EXISTS with both values. */
int slipring_cells_create(const char *bus, const char *name, const slipring_cells_settings *settings, bool exist_ok);
int slipring_cells_remove(const char *bus, const char *name);

typedef struct slipring_cells_shape { /* does not change while the writer or reader is open */
    uint64_t item_size, stride;
    uint32_t depth, cell_count;
    void *cells; /* cell i begins at cells + i * stride */
    size_t span; /* bytes of all cells */
} slipring_cells_shape;

typedef struct slipring_cells_writer slipring_cells_writer;
int slipring_cells_writer_open(const char *bus, const char *name, slipring_cells_writer **out); /* BUSY: there is a live one */
void slipring_cells_writer_close(slipring_cells_writer *writer);
void slipring_cells_writer_shape(const slipring_cells_writer *writer, slipring_cells_shape *out);
/* Return the cell to fill, which the reader does not see; the same one until it is committed. */
int slipring_cells_writer_begin(slipring_cells_writer *writer, uint32_t *cell);
/* Make it the newest element. Never waits for the reader. */
int slipring_cells_writer_commit(slipring_cells_writer *writer, uint64_t *seq);
int slipring_cells_writer_put(slipring_cells_writer *writer, const void *value, size_t size, uint64_t *seq);

typedef struct slipring_element {
    uint64_t seq;
    uint32_t cell;
} slipring_element;

typedef struct slipring_cells_counts {
    uint64_t received, lost, skipped, position; /* of this handle; every sequence below position is counted */
} slipring_cells_counts;

typedef struct slipring_cells_reader slipring_cells_reader;
int slipring_cells_reader_open(const char *bus, const char *name, slipring_cells_reader **out); /* BUSY: there is a live one */
void slipring_cells_reader_close(slipring_cells_reader *reader);
void slipring_cells_reader_shape(const slipring_cells_reader *reader, slipring_cells_shape *out);
/* Take the newest elements that were not taken before, at most depth, oldest first. They stay unchanged, and *elements stays
 * valid, until the next take. Never waits for the writer. */
int slipring_cells_reader_take(slipring_cells_reader *reader, const slipring_element **elements, size_t *count);
/* Take the newest element and skip older ones. EMPTY if it was taken before. */
int slipring_cells_reader_take_newest(slipring_cells_reader *reader, slipring_element *out);
void slipring_cells_reader_counts(const slipring_cells_reader *reader, slipring_cells_counts *out);
/* Wait until there is an element to take. OK (take; if there is none, call again), TIMEOUT, INTERRUPTED (a signal arrived),
 * CLOSED or TOPIC_GONE. */
int slipring_cells_reader_wait(slipring_cells_reader *reader, int64_t deadline_ns, int64_t spin_ns);
void slipring_cells_reader_interrupt(slipring_cells_reader *reader); /* waits return SLIPRING_CLOSED */

typedef struct slipring_cells_info {
    uint64_t generation, item_size, file_bytes, puts, position, received, lost, skipped;
    int64_t created_ns;
    uint32_t depth, cell_count, mode, creator_pid, writer_pid, reader_pid; /* pids: 0 if unknown */
    bool writer_alive, reader_alive;
    char format[SLIPRING_MAX_FORMAT + 1];
} slipring_cells_info;
/* Read the state from shared memory and verify it: CORRUPT if a cell is missing or has two owners. */
int slipring_cells_inspect(const char *bus, const char *name, slipring_cells_info *out);
/* Remove the entries of dead processes; *swept is their number. */
int slipring_cells_sweep(const char *bus, const char *name, uint32_t *swept);

/* Inspection: reads shared memory, needs no other process ---------------------------------------------------- */

typedef struct slipring_inspector slipring_inspector;

typedef struct slipring_topic_info {
    uint64_t generation, capacity, slots, oldest, freed, tail, published, abandoned, unsettled, bytes;
    uint64_t file_bytes;
    int64_t created_ns;
    uint32_t max_readers, max_writers, max_cursors, creator_pid, mode;
    int delivery, writers, content;
    uint32_t schema_size; /* 0: no schema */
} slipring_topic_info;

typedef struct slipring_writer_info {
    uint64_t published, bytes;
    uint64_t incarnation; /* changes with each owner of the entry */
    uint32_t pid;
    bool used, alive;
    char name[65];
} slipring_writer_info;

typedef struct slipring_reader_info {
    uint64_t position, hold, received, lost, filtered;
    int64_t since_ns;
    uint32_t pid;
    int kind; /* 0 free entry, 1 lossy, 2 reliable, 3 with a cursor */
    bool used, alive, holds;
} slipring_reader_info;

typedef struct slipring_cursor_info {
    uint64_t position;
    int64_t touched_ns, expires_ns, created_ns;
    bool used, attached;
    char name[SLIPRING_MAX_CURSOR_NAME + 1];
} slipring_cursor_info;

int slipring_inspector_open(const char *bus, const char *topic, slipring_inspector **out);
void slipring_inspector_close(slipring_inspector *inspector);
int slipring_inspector_topic(slipring_inspector *inspector, slipring_topic_info *out);
int slipring_inspector_writer(slipring_inspector *inspector, uint32_t entry, slipring_writer_info *out);
int slipring_inspector_reader(slipring_inspector *inspector, uint32_t entry, slipring_reader_info *out);
int slipring_inspector_cursor(slipring_inspector *inspector, uint32_t entry, slipring_cursor_info *out);
int slipring_inspector_schema(const slipring_inspector *inspector, void *buffer, size_t room, size_t *size); /* as of a publisher */
int slipring_inspector_verify(slipring_inspector *inspector); /* OK, or SLIPRING_CORRUPT with the reason */

/* Ranges: the messages between two sequences, which can be read any number of times. A range has no table entry and holds
 * no message back. */
typedef struct slipring_range slipring_range;

typedef struct slipring_range_sink { /* message and hole return false to stop before what they are shown */
    bool (*message)(void *context, const slipring_message *message); /* in shared memory: copy it */
    bool (*hole)(void *context, uint64_t first, uint64_t span, uint64_t lost); /* span sequences without a readable message */
    void (*drop)(void *context); /* the last shown message was overwritten while it was copied: discard it */
    /* Optional: read up to `most` of the following messages itself with slipring_subscriber_take_columns; return their number. */
    size_t (*run)(void *context, slipring_subscriber *reader, uint64_t most);
} slipring_range_sink;

int slipring_range_open(const char *bus, const char *topic, slipring_range **out);
void slipring_range_close(slipring_range *range);
uint64_t slipring_range_generation(const slipring_range *range);
bool slipring_range_reliable(const slipring_range *range);
int slipring_range_schema(const slipring_range *range, void *buffer, size_t room, size_t *size); /* as of a publisher */
int slipring_range_oldest(slipring_range *range, uint64_t *seq);
/* Find the end of the settled sequences from start, or from the oldest message if that is later. A settled sequence is a
 * message or will never be one. At most rows sequences and bytes of bodies, but at least one sequence if there is one. */
int slipring_range_settled(slipring_range *range, uint64_t start, uint64_t rows, uint64_t bytes, uint64_t *end);
/* Find the first available message that was sent at or after time_ns; if there is none, the next sequence. */
int slipring_range_at_time(slipring_range *range, int64_t time_ns, uint64_t *seq);
int slipring_range_begin(slipring_range *range, uint64_t from);
/* Pass every sequence up to until to the sink once, in order, as a message or in a hole. *reached is less than until if the sink
 * stopped. BAD_ARGUMENT: until is beyond the settled sequences. */
int slipring_range_read(slipring_range *range, uint64_t until, const slipring_range_sink *sink, void *context,
                        uint64_t *reached);

int slipring_cursor_drop(const char *bus, const char *topic, const char *name);
/* Free the table entries and claims of dead processes; *swept is the number of entries. */
int slipring_topic_sweep(const char *bus, const char *topic, uint32_t *swept);

/* The memory layout as compiled ----------------------------------------------------------------------------- */

typedef struct slipring_layout_field {
    const char *structure, *field;
    uint32_t offset, size;
} slipring_layout_field;

const slipring_layout_field *slipring_layout(size_t *count);
uint64_t slipring_layout_hash(void);
/* The same for a kind of file: "topic", "frames" (the pool) or "cells". NULL and 0 rows: unknown kind. */
const slipring_layout_field *slipring_layout_of(const char *kind, size_t *count);
uint64_t slipring_layout_hash_of(const char *kind);

#ifdef __cplusplus
}
#endif
#endif
