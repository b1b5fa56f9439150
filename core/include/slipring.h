/* SPDX-License-Identifier: Apache-2.0
 *
 * Slipring: a shared-memory message bus for the processes of one host.
 *
 * A bus is a directory, a topic two files in it. Publishers append messages, subscribers read them, each at its
 * own pace; any process may be killed at any instruction without disturbing the others.
 *
 *     slipring_publisher *pub;
 *     slipring_publisher_open("/dev/shm/slipring-0/robot", "imu", "gyro", 4, NULL, &pub);
 *     slipring_publisher_send(pub, "hello", 5, "text", 4, SLIPRING_NOW, NULL);
 *
 * Functions return SLIPRING_OK or a negative code; slipring_last_error() then tells the rest. Deadlines are
 * CLOCK_MONOTONIC nanoseconds, see slipring_deadline().
 *
 * Caveats
 * - A handle is used by one thread at a time; two handles are independent. slipring_*_interrupt may be called
 *   from any thread.
 * - Handles do not survive fork(): in the child every call answers SLIPRING_FORKED.
 * - A memory pointer from a view or a claim is valid until it is released, committed or aborted.
 * - Whoever may write the files can truncate them, and then kill their users by SIGBUS: file modes are the
 *   access control. Contents, however hostile, only ever lead to SLIPRING_CORRUPT.
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

/* X(code, number): one code per cause. */
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
    X(SLIPRING_LAPPED, -20)

#define SLIPRING_ENUM(code, number) code = number,
enum slipring_code { SLIPRING_CODES(SLIPRING_ENUM) };
#undef SLIPRING_ENUM

typedef struct slipring_error {
    int code;
    int system_errno;   /* 0 unless a system call failed */
    char argument[32];  /* the argument to change, or "" */
    char found[64];     /* SLIPRING_EXISTS: what is there … */
    char asked[64];     /* … and what was asked for */
    char message[320];
} slipring_error;

const slipring_error *slipring_last_error(void); /* of this thread */
int64_t slipring_deadline(double timeout_s);     /* seconds from now; negative: for ever */

/* Topics ---------------------------------------------------------------------------------------------------- */

enum { SLIPRING_LOSSY = 0, SLIPRING_RELIABLE = 1 };
enum { SLIPRING_WRITERS_MANY = 0, SLIPRING_WRITERS_ONE = 1 };
enum { SLIPRING_MESSAGES = 0, SLIPRING_FRAMES = 1 };

typedef struct slipring_settings {
    uint64_t capacity;    /* payload bytes, rounded up to a power of two; 0: default, or whatever is there */
    uint64_t slots;       /* messages, rounded up to a power of two; 0: from capacity */
    int delivery;         /* -1: default (lossy), or whatever is there */
    int writers;          /* -1: default (many), or whatever is there */
    uint32_t max_readers; /* 0: default 64 */
    uint32_t max_writers; /* 0: default 64 */
    uint32_t max_cursors; /* 0: default 16 */
    uint32_t mode;        /* of <topic>.ring; 0: 0600 */
    int content;          /* what its messages are: 0 anything; SLIPRING_FRAMES: they announce frames, see below */
    bool must_exist;      /* of a publisher: a missing topic is NOT_FOUND, not created */
} slipring_settings;

#define SLIPRING_SETTINGS_DEFAULT {0, 0, -1, -1, 0, 0, 0, 0, SLIPRING_MESSAGES, false}
#define SLIPRING_SETTINGS_FRAMES \
    {1 << 20, 4096, SLIPRING_LOSSY, SLIPRING_WRITERS_ONE, 0, 0, 0, 0, SLIPRING_FRAMES, false}

int slipring_topic_create(const char *bus, const char *topic, const slipring_settings *settings, bool exist_ok);
int slipring_topic_remove(const char *bus, const char *topic);
/* Whether some of the topic's files are there without the others, as a creator or remover that died half-way, or somebody's rm, leaves
 * it; with repair, it is deleted. */
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

/* settings NULL: any; the topic is created when missing. */
int slipring_publisher_open(const char *bus, const char *topic, const char *sender, size_t sender_size,
                            const slipring_settings *settings, slipring_publisher **out);
void slipring_publisher_close(slipring_publisher *pub); /* aborts open claims */

int slipring_publisher_send(slipring_publisher *pub, const void *body, size_t size, const char *type,
                            size_t type_size, int64_t deadline_ns, uint64_t *seq);
/* For what passes messages on (bridges, replays): another's name, and the time it sent; time_ns 0: now. */
int slipring_publisher_send_as(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                               const char *sender, size_t sender_size, int64_t time_ns, int64_t deadline_ns, uint64_t *seq);
/* As send_as, and never waits. note is called with the sequence when the message is written and before it can be read;
 * if it does not return 0, the message is aborted and its value returned. What note wrote down (the number of a message
 * at its origin, say) is thus there for every message that was ever readable, wherever the process is killed. */
typedef int (*slipring_precommit)(void *context, uint64_t seq);
int slipring_publisher_send_precommit(slipring_publisher *pub, const void *body, size_t size, const char *type,
                                  size_t type_size, const char *sender, size_t sender_size, int64_t time_ns,
                                  slipring_precommit callback, void *context, uint64_t *seq);
/* Whether a body of that size and type could ever be sent: OK, TOO_LARGE, BAD_ARGUMENT and so on. */
int slipring_publisher_check(slipring_publisher *pub, size_t size, const char *type, size_t type_size);
/* Never waits; sends a prefix of the bodies, tells how many, and says why it stopped (SLIPRING_OK: all). */
int slipring_publisher_try_send_many(slipring_publisher *pub, const slipring_body *bodies, size_t count,
                                     const char *type, size_t type_size, size_t *sent, uint64_t *last_seq);
int slipring_publisher_claim(slipring_publisher *pub, size_t size, const char *type, size_t type_size,
                             int64_t deadline_ns, slipring_claim *out);
int slipring_publisher_commit(slipring_publisher *pub, const slipring_claim *claim);
int slipring_publisher_abort(slipring_publisher *pub, const slipring_claim *claim);
/* After SLIPRING_FULL: sleep until a retry of the same size may succeed. OK, TIMEOUT, INTERRUPTED, CLOSED or TOPIC_GONE. */
int slipring_publisher_wait_space(slipring_publisher *pub, int64_t deadline_ns);
int slipring_publisher_subscribers(slipring_publisher *pub); /* live readers in the table */
uint32_t slipring_publisher_max_subscribers(const slipring_publisher *pub); /* as many as it has entries */
bool slipring_publisher_reliable(const slipring_publisher *pub);
void slipring_publisher_interrupt(slipring_publisher *pub);  /* waits end with SLIPRING_CLOSED */
uint32_t slipring_publisher_entry(const slipring_publisher *pub, uint64_t *since_seq);

/* Subscribing ----------------------------------------------------------------------------------------------- */

typedef struct slipring_subscriber slipring_subscriber;

enum { SLIPRING_START_NEW = 0, SLIPRING_START_LAST = 1, SLIPRING_START_OLDEST = 2, SLIPRING_START_SEQ = 3 };

typedef struct slipring_text {
    const char *data;
    size_t size;
} slipring_text;

typedef struct slipring_filter { /* copied; NULL and 0: no filter */
    const slipring_text *types; /* only these, when given */
    size_t type_count;
    bool only_types;
    const slipring_text *ignore_types;
    size_t ignore_type_count;
    const slipring_text *ignore_senders;
    size_t ignore_sender_count;
    bool ignore_own; /* messages of writer entry own_entry from own_since on */
    uint32_t own_entry;
    uint64_t own_since;
} slipring_filter;

typedef struct slipring_subscriber_settings {
    int start;
    uint64_t start_seq;
    int lossy; /* -1: as the topic delivers */
    bool conflate;
    const char *cursor; /* NULL: none */
    int64_t expires_ns; /* of a new cursor; 0: never */
    const slipring_filter *filter;
} slipring_subscriber_settings;

typedef struct slipring_message {
    uint64_t seq;
    int64_t time_ns;
    const void *body; /* in place */
    const void *meta; /* in place: type, then sender */
    uint32_t size;
    uint8_t type_size;
    uint8_t sender_size;
} slipring_message;

typedef struct slipring_counts {
    uint64_t received, lost, filtered, position, tail;
    int entry;     /* -1: the reader table was full */
    bool reliable; /* nothing is reclaimed before this subscriber passed it */
} slipring_counts;

int slipring_subscriber_open(const char *bus, const char *topic, const slipring_subscriber_settings *how,
                             slipring_subscriber **out);
void slipring_subscriber_close(slipring_subscriber *sub);

/* The next message, in place, or SLIPRING_EMPTY. It may be overwritten at any time: copy it with
 * slipring_copy, and use the copy only if slipring_subscriber_accept then answers SLIPRING_OK, which also moves on.
 * SLIPRING_LAPPED: the copy is worthless, the loss is counted, peek again. */
int slipring_subscriber_peek(slipring_subscriber *sub, slipring_message *out);
int slipring_subscriber_accept(slipring_subscriber *sub);
/* Whether the peeked message has not been overwritten so far: if it has, what peek told of it may be wrong. */
bool slipring_subscriber_intact(const slipring_subscriber *sub);
void slipring_copy(void *to, const void *shared, size_t size);
/* Up to limit messages in one go: sink gets each one in place, says false to stop before it, and *taken tells how
 * many were accepted; those accepted are the first *taken that sink was shown. Copies only. With none taken the code says
 * why: EMPTY, LAPPED (drop what the sink has and come again) and so on. */
typedef bool (*slipring_sink)(void *context, const slipring_message *message);
int slipring_subscriber_drain(slipring_subscriber *sub, size_t limit, slipring_sink sink, void *context, size_t *taken);
/* Messages into the caller's arrays, each field in its own, from row `rows` on: as many as follow each other with this type
 * and sender and fit, limit at most (no more than are there, or they are disturbed while they are written). How many: none
 * says nothing; drain or peek tells what is there, or what is wrong. */
typedef struct slipring_columns {
    size_t rows;
    int64_t *seqs, *times_ns; /* NULL: not wanted; so for data and ends, which come together */
    int32_t *ends; /* where each body ends in data */
    uint8_t *data;
    size_t data_used, data_room; /* room at most INT32_MAX */
    const uint64_t *meta_words; /* type, then sender, as they lie behind a body: in whole words, zeros at the end */
    uint8_t type_size, sender_size;
} slipring_columns;
size_t slipring_subscriber_take_columns(slipring_subscriber *sub, slipring_columns *columns, size_t limit);
/* One message copied into buffer: EMPTY, TIMEOUT, TOO_LARGE (message stays, out->size tells) and so on. */
int slipring_subscriber_recv(slipring_subscriber *sub, void *buffer, size_t buffer_size, slipring_message *out,
                             char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8], int64_t deadline_ns);
/* The next message in place, unchanging until released. Never waits. */
int slipring_subscriber_hold(slipring_subscriber *sub, slipring_message *out);
int slipring_subscriber_release(slipring_subscriber *sub, uint64_t seq);
/* For what reads ahead for another (bridges): what was read from seq on stays in the ring as if it had not been, until the
 * next call, with the same or a higher seq. Begin with the position, also after a seek. A reliable subscriber's without a cursor. */
int slipring_subscriber_keep(slipring_subscriber *sub, uint64_t seq);

int slipring_subscriber_seek(slipring_subscriber *sub, int start, uint64_t start_seq);
int slipring_subscriber_commit(slipring_subscriber *sub, uint64_t position); /* cursor only */
void slipring_subscriber_counts(slipring_subscriber *sub, slipring_counts *out);
void slipring_subscriber_interrupt(slipring_subscriber *sub); /* waits end with SLIPRING_CLOSED */

/* A bell wakes a wait from another thread of the same process. */
typedef struct slipring_bell {
    uint32_t rings;
} slipring_bell;
void slipring_bell_ring(slipring_bell *bell);

/* Until one of the subscribers may have something (peek decides), or the bell's count differs from seen_rings.
 * Spins for spin_ns first, then sleeps. OK (look, and come again if there is nothing), TIMEOUT, INTERRUPTED (a signal),
 * CLOSED or TOPIC_GONE. */
int slipring_wait(slipring_subscriber *const *subs, size_t count, slipring_bell *bell, uint32_t seen_rings,
                  int64_t deadline_ns, int64_t spin_ns);

/* Frames: large arrays in a pool of buffers ------------------------------------------------------------------ */

/* A frames topic has a third file with the buffers; its messages announce which buffer holds which frame. A writer works
 * on a publisher opened with SLIPRING_SETTINGS_FRAMES, a reader on any subscriber of the topic that has a table entry;
 * close them before it. A frame that a reader has taken does not change until it is released; the writer takes a
 * buffer that nobody holds, at once, or says FULL. */

#define SLIPRING_MAX_STREAM 63
#define SLIPRING_MAX_STREAMS 16
#define SLIPRING_MAX_BUFFERS 64 /* of all streams together */
#define SLIPRING_MAX_DIMENSIONS 8
#define SLIPRING_MAX_DTYPE 95
#define SLIPRING_MAX_FRAME_META 16384

typedef struct slipring_stream {
    char name[SLIPRING_MAX_STREAM + 1];
    char dtype[SLIPRING_MAX_DTYPE + 1]; /* for its readers; the core does not look at it */
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
    int64_t start_ns, end_ns; /* 0: when the buffer was taken; when it was sent */
    const void *meta;
    uint32_t meta_size, meta_kind;
} slipring_frame_message;

/* Streams as given, or with count 0 as they are. Other streams than before: another pool, which readers follow. */
int slipring_frame_writer_open(slipring_publisher *pub, const char *bus, const char *topic, const slipring_stream *streams,
                               size_t count, slipring_frame_writer **out);
/* Aborts what was taken and not sent. The publisher may be closed now; the memory stays mapped until close. */
void slipring_frame_writer_stop(slipring_frame_writer *writer);
void slipring_frame_writer_close(slipring_frame_writer *writer);
const slipring_stream *slipring_frame_writer_streams(const slipring_frame_writer *writer, size_t *count);
int slipring_frame_writer_take(slipring_frame_writer *writer, uint32_t stream, slipring_frame_buffer *out);
int slipring_frame_writer_send(slipring_frame_writer *writer, uint32_t buffer, const slipring_frame_message *message,
                               uint64_t *id, uint64_t *seq);
int slipring_frame_writer_abort(slipring_frame_writer *writer, uint32_t buffer);

typedef struct slipring_frame_reader slipring_frame_reader;

typedef struct slipring_frame_reader_settings {
    const char *stream; /* NULL: all of them */
    int start;          /* NEW (since the subscriber opened), LAST or OLDEST; SEQ: the subscriber was there before the topic */
    bool conflate;
    const slipring_stream *insist; /* name "": any stream; dimensions 0 and dtype "": any */
    size_t insist_count;
} slipring_frame_reader_settings;

typedef struct slipring_frame {
    const void *data; /* in place */
    size_t size;
    const slipring_stream *stream;
    const void *meta; /* until the next take */
    uint32_t meta_size, meta_kind;
    uint64_t id; /* in its stream: from 0, without gaps */
    uint64_t seq, run;
    int64_t time_ns, start_ns, end_ns;
    uint64_t token; /* for release */
} slipring_frame;

int slipring_frame_reader_open(slipring_subscriber *sub, const char *bus, const char *topic,
                               const slipring_frame_reader_settings *how, slipring_frame_reader **out);
void slipring_frame_reader_close(slipring_frame_reader *reader); /* frames not released are unmapped */
/* The next frame, held, or EMPTY. Never waits: slipring_wait on the subscriber tells when to try again. */
int slipring_frame_reader_take(slipring_frame_reader *reader, slipring_frame *out);
int slipring_frame_reader_release(slipring_frame_reader *reader, uint64_t token);
/* received + lost + filtered = frames sent since the reader's start; filtered: conflated away. Streams as of now. */
void slipring_frame_reader_counts(const slipring_frame_reader *reader, slipring_counts *out);
const slipring_stream *slipring_frame_reader_streams(const slipring_frame_reader *reader, size_t *count);

/* What is there, without taking part. */
typedef struct slipring_pool_info {
    uint64_t generation, file_bytes, runs;
    int64_t created_ns;
    uint32_t held[SLIPRING_MAX_STREAMS]; /* buffers of each stream held by the living */
    uint32_t stream_count;
    slipring_stream stream[SLIPRING_MAX_STREAMS];
} slipring_pool_info;
int slipring_pool_inspect(const char *bus, const char *topic, slipring_pool_info *out);

/* Cells: the newest values of one writer for one reader (cells/cells.c tells how) ------------------------------------ */

typedef struct slipring_cells_settings {
    uint64_t item_size; /* bytes of an element; 0: whatever is there */
    uint32_t depth;     /* elements kept for the reader; 0: default 4, or whatever is there */
    uint32_t mode;      /* of <name>.cells; 0: 0600. Writer and reader both need to read and write it. */
    const char *format; /* what the elements are, for their users; compared when the cells exist */
    size_t format_size; /* at most SLIPRING_MAX_FORMAT */
} slipring_cells_settings;
#define SLIPRING_MAX_FORMAT 2047

/* EXISTS names found and asked. With item_size 0 nothing is created. */
int slipring_cells_create(const char *bus, const char *name, const slipring_cells_settings *settings, bool exist_ok);
int slipring_cells_remove(const char *bus, const char *name);

typedef struct slipring_cells_shape { /* of an opened end, fixed for its life */
    uint64_t item_size, stride;
    uint32_t depth, cell_count;
    void *cells; /* cell i begins at cells + i * stride */
    size_t span; /* bytes of all cells */
} slipring_cells_shape;

typedef struct slipring_cells_writer slipring_cells_writer;
int slipring_cells_writer_open(const char *bus, const char *name, slipring_cells_writer **out); /* BUSY: there is one */
void slipring_cells_writer_close(slipring_cells_writer *writer);
void slipring_cells_writer_shape(const slipring_cells_writer *writer, slipring_cells_shape *out);
/* The cell to fill, which nobody else sees; the same one until it is put. */
int slipring_cells_writer_begin(slipring_cells_writer *writer, uint32_t *cell);
/* Makes it the newest element. Never waits for the reader. */
int slipring_cells_writer_commit(slipring_cells_writer *writer, uint64_t *seq);
int slipring_cells_writer_put(slipring_cells_writer *writer, const void *value, size_t size, uint64_t *seq);

typedef struct slipring_element {
    uint64_t seq;
    uint32_t cell;
} slipring_element;

typedef struct slipring_cells_counts {
    uint64_t received, lost, skipped, position; /* of this handle; position: all sequences below are accounted for */
} slipring_cells_counts;

typedef struct slipring_cells_reader slipring_cells_reader;
int slipring_cells_reader_open(const char *bus, const char *name, slipring_cells_reader **out); /* BUSY: there is one */
void slipring_cells_reader_close(slipring_cells_reader *reader);
void slipring_cells_reader_shape(const slipring_cells_reader *reader, slipring_cells_shape *out);
/* Up to depth elements that were not taken before, oldest first: the newest ones. They are the reader's, unchanged,
 * until its next take; *elements until then too. Never waits for the writer. */
int slipring_cells_reader_take(slipring_cells_reader *reader, const slipring_element **elements, size_t *count);
/* Only the newest; older ones are skipped. EMPTY if it was taken before. */
int slipring_cells_reader_take_newest(slipring_cells_reader *reader, slipring_element *out);
void slipring_cells_reader_counts(const slipring_cells_reader *reader, slipring_cells_counts *out);
/* Until there is something to take. OK (look, and come again if there is nothing), TIMEOUT, INTERRUPTED (a signal),
 * CLOSED or TOPIC_GONE. */
int slipring_cells_reader_wait(slipring_cells_reader *reader, int64_t deadline_ns, int64_t spin_ns);
void slipring_cells_reader_interrupt(slipring_cells_reader *reader); /* waits end with SLIPRING_CLOSED; any thread */

typedef struct slipring_cells_info {
    uint64_t generation, item_size, file_bytes, puts, position, received, lost, skipped;
    int64_t created_ns;
    uint32_t depth, cell_count, mode, creator_pid, writer_pid, reader_pid; /* pids: 0 if there is none */
    bool writer_alive, reader_alive;
    char format[SLIPRING_MAX_FORMAT + 1];
} slipring_cells_info;
/* Reads shared memory only, and verifies it: CORRUPT if cells are missing or owned twice. */
int slipring_cells_inspect(const char *bus, const char *name, slipring_cells_info *out);
/* Forgets the dead; tells how many. */
int slipring_cells_sweep(const char *bus, const char *name, uint32_t *swept);

/* Looking: reads shared memory only, asks no process -------------------------------------------------------- */

typedef struct slipring_inspector slipring_inspector;

typedef struct slipring_topic_info {
    uint64_t generation, capacity, slots, oldest, freed, tail, published, abandoned, unsettled, bytes;
    uint64_t file_bytes;
    int64_t created_ns;
    uint32_t max_readers, max_writers, max_cursors, creator_pid, mode;
    int delivery, writers, content;
} slipring_topic_info;

typedef struct slipring_writer_info {
    uint64_t published, bytes;
    uint64_t incarnation; /* another one, another owner */
    uint32_t pid;
    bool used, alive;
    char name[65];
} slipring_writer_info;

typedef struct slipring_reader_info {
    uint64_t position, hold, received, lost, filtered;
    int64_t since_ns;
    uint32_t pid;
    int kind; /* 1 lossy, 2 reliable, 3 with a cursor */
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
int slipring_inspector_verify(slipring_inspector *inspector); /* OK or SLIPRING_CORRUPT with what is wrong */

/* Ranges: what lies between two sequences, read as often as need be, by who has no entry in any table and holds nothing
 * back. Used by one thread at a time. */
typedef struct slipring_range slipring_range;

typedef struct slipring_range_sink { /* each says false to stop before what it is shown */
    bool (*message)(void *context, const slipring_message *message); /* in place: copy it */
    bool (*hole)(void *context, uint64_t first, uint64_t span, uint64_t lost); /* sequences that bring no message */
    void (*drop)(void *context); /* the message shown last was overwritten while it was copied */
    /* May be NULL: takes up to `most` of the messages that follow by itself (slipring_subscriber_take_columns); how many. */
    size_t (*run)(void *context, slipring_subscriber *reader, uint64_t most);
} slipring_range_sink;

int slipring_range_open(const char *bus, const char *topic, slipring_range **out);
void slipring_range_close(slipring_range *range);
uint64_t slipring_range_generation(const slipring_range *range);
bool slipring_range_reliable(const slipring_range *range);
int slipring_range_oldest(slipring_range *range, uint64_t *seq);
/* The end of what is settled from start (or oldest, if that is later) without interruption: messages, and sequences that
 * will never be one. At most that many sequences, and bytes of bodies, but one at least if there is one. */
int slipring_range_settled(slipring_range *range, uint64_t start, uint64_t rows, uint64_t bytes, uint64_t *end);
/* The first sequence sent at or after that time that is still there; the next to be published if there is none. */
int slipring_range_at_time(slipring_range *range, int64_t time_ns, uint64_t *seq);
int slipring_range_begin(slipring_range *range, uint64_t from);
/* Every sequence up to until comes out once, in order, as a message or in a hole. *reached tells how far it came, which is
 * less than until if the sink stopped it. BAD_ARGUMENT: until is beyond what is settled. */
int slipring_range_read(slipring_range *range, uint64_t until, const slipring_range_sink *sink, void *context,
                        uint64_t *reached);

int slipring_cursor_drop(const char *bus, const char *topic, const char *name);
/* Frees the table entries and claims of the dead; tells how many. */
int slipring_topic_sweep(const char *bus, const char *topic, uint32_t *swept);

/* The memory layout as compiled ----------------------------------------------------------------------------- */

typedef struct slipring_layout_field {
    const char *structure, *field;
    uint32_t offset, size;
} slipring_layout_field;

const slipring_layout_field *slipring_layout(size_t *count);
uint64_t slipring_layout_hash(void);
/* The same for each kind of file: "topic", "cells" or "frames". NULL and 0 for any other kind. */
const slipring_layout_field *slipring_layout_of(const char *kind, size_t *count);
uint64_t slipring_layout_hash_of(const char *kind);

#ifdef __cplusplus
}
#endif
#endif
