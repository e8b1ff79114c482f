/* The compiled kernel: the sums of two tensors in one pass, on three kinds of processors with the same bits.
 *
 * Loaded with ctypes by kernel_compiled.py, which checks what it gives; definitions are those of metrics.py, and
 * tests/comparison/measure holds this kernel and NumPy's against each other and against exact arithmetic. Nothing here
 * allocates memory, keeps anything between calls or knows of Python: one file serves all its versions, and threads.
 *
 * A block of elements lies in the first caches. Its sums are gathered as if all its elements were finite; if they turn
 * out not to be, it is done again with those taken out. Formats of up to two bytes and float32 are read as float32,
 * which is exact, all others as float64 with their difference beside them.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#define INTERFACE 1 /* what the functions take; kernel_compiled.py asks for it */

#ifndef SOURCE
#define SOURCE 0 /* what was compiled, as setup.py tells: tests ask whether a checkout has the library of its sources */
#endif
#ifndef BLOCK
#define BLOCK 4096 /* elements */
#endif
#ifndef STRIP
#define STRIP 4096 /* elements of a row that are added in float32 */
#endif
#define TILE 16
#define CANCELS 1e-3 /* share of a sum of squares below which its deviation has lost digits */
#define NEAR_ZERO 0x1p-52
#define ONE_THOUSANDTH 0.001
#define FIVE_THOUSANDTHS 0.005

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

/* How elements lie; in the order of kernel_compiled.py. From INT32 on they are read as float64. */
enum { FLOAT32, FLOAT16, BFLOAT16, INT8, UINT8, INT16, UINT16, BOOL, INT32, UINT32, INT64, UINT64, FLOAT64, KINDS };
static const int8_t SIZES[KINDS] = {4, 2, 2, 1, 1, 2, 2, 1, 4, 4, 8, 8, 8};

/* Counts and figures in the order of Sums in metrics.py, and two counts more: finite elements of each side so far. */
enum { SIZE, FINITE, INFINITE_AGREE, NAN_T, POS_INF_T, NEG_INF_T, ZERO_T, NAN_G, POS_INF_G, NEG_INF_G, ZERO_G,
       ONE, FIVE, WORST, SEEN_T, SEEN_G };
enum { MIN_T, MAX_T, MEAN_T, M2_T, MIN_G, MAX_G, MEAN_G, M2_G, TG, TT, GG, SQUARE, ABSOLUTE, ABSOLUTE_MAX,
       RELATIVE, RELATIVE_MAX, SMALL, SMALL_MAX, DG, WEIGHTED };

/* Sums of a block in eight lanes, in this order: Σg², Σd², Σd·g, Σ(d·g)², Σt, Σg, Σ|d|, Σ|d|/|g|. */
enum { LANES_GG, LANES_SQUARE, LANES_DG, LANES_WEIGHTED, LANES_T, LANES_G, LANES_ABSOLUTE, LANES_RELATIVE, SUMS };

typedef struct {
    double sums[SUMS][8], absolute_max, relative_max;
    int64_t one, five, odd; /* odd is not 0 if an element is off whose golden is near to zero */
} Lanes;

/* The last elements of a block, fewer than eight, with zeros behind them. */
typedef struct {
    double t[8], g[8], d[8];
} Ends;

typedef struct {
    double low, high;
    int64_t zeros;
} Extremes;

/* What a block of finite elements gives; target and golden in turn. */
typedef struct {
    Extremes sides[2];
    double plain[2], squares[2], tg;
    double square, absolute, absolute_max, relative, relative_max, dg, weighted;
    int64_t one, five;
    int odd;
} Block;

/* Room that the caller gives, for one block. */
typedef struct {
    float narrow[2][BLOCK];
    double wide[3][BLOCK], kept[BLOCK], none[BLOCK];
    int64_t places[BLOCK];
} Room;

typedef void Cross(const void *, const void *, const void *, int64_t, const Ends *, Lanes *);

typedef struct {
    Cross *cross[4]; /* by kind up to INT8; 0: not as it lies */
    Cross *cross_wide;
    void (*products)(int, const void *, const void *, int64_t, double[2]);
    void (*extremes[4])(const void *, int64_t, Extremes *); /* of float16 and bfloat16 integers that order like them */
    void (*extremes_wide)(const void *, int64_t, Extremes *);
    void (*to_float32)(int, const void *, int64_t, float *);
    double (*spread)(int, const void *, int64_t, double);
    void (*truths)(const uint8_t *, const uint8_t *, int64_t, int64_t[3]);
    void (*row_narrow)(const float *, const float *, int64_t, float *, float *, double[2]);
    void (*row_wide)(const double *, const double *, int64_t, double *, double *, double[2]);
} Loops;

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double lesser(double a, double b) { return a < b ? a : b; }

static inline double sum_lanes(const double *a)
{
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* The bits of float32 for those of float16, by integer steps alone; exact. */
static inline uint32_t float_of_half(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7FFF) << 13;
    float scaled;
    memcpy(&scaled, &bits, sizeof scaled);
    scaled *= 0x1p112f;
    memcpy(&bits, &scaled, sizeof bits);
    return bits | ((half & 0x7C00) == 0x7C00 ? 0x7F800000u : 0u) | (uint32_t)(half & 0x8000) << 16;
}

static double half_of_key(int kind, double key)
{
    int bits = (int)key;
    bits = (bits ^ ((bits >> 15) & INT16_MAX)) & 0xFFFF;
    uint32_t wide = kind == FLOAT16 ? float_of_half((uint16_t)bits) : (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

#define NAME(name) name##_plain
#define LOOP static
#define INLINE static inline __attribute__((always_inline))
#define W 2
#include "kernel_loops.h"

#if defined(__x86_64__)
#define NAME(name) name##_avx2
#define LOOP static __attribute__((target("avx2,f16c")))
#define INLINE static inline __attribute__((always_inline, target("avx2,f16c")))
#define W 4
#include "kernel_loops.h"

#define NAME(name) name##_avx512
#define FOR_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,f16c,prefer-vector-width=512"
#define LOOP static __attribute__((target(FOR_AVX512)))
#define INLINE static inline __attribute__((always_inline, target(FOR_AVX512)))
#define W 8
#include "kernel_loops.h"

static const Loops *const VARIANTS[] = {&loops_plain, &loops_avx2, &loops_avx512};
#else
static const Loops *const VARIANTS[] = {&loops_plain};
#endif

/* How many of the variants this processor can run; each can run those before it. */
static int variants(void)
{
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))
        return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? 3 : 2;
#else
    return 1;
#endif
}

/* Both sides of a block, of one kind; once they are read FLOAT32, or FLOAT64 with the differences. */
typedef struct {
    const void *x[2];
    const double *d;
    int kind;
    int64_t size;
} Pair;

static double element(const Pair *p, int side, int64_t i)
{
    return p->kind == FLOAT64 ? ((const double *)p->x[side])[i] : (double)((const float *)p->x[side])[i];
}

static double difference(const Pair *p, int64_t i)
{
    return p->kind == FLOAT64 ? p->d[i] : element(p, 0, i) - element(p, 1, i);
}

/* --- reading ------------------------------------------------------------------------------- */

static int64_t signed_at(const void *x, int64_t i) { int64_t v; memcpy(&v, (const char *)x + 8 * i, 8); return v; }
static uint64_t unsigned_at(const void *x, int64_t i) { uint64_t v; memcpy(&v, (const char *)x + 8 * i, 8); return v; }

/* Put elements as float64 into ``out``; 64-bit integers are rounded, what is lost is taken from or added to ``d``. */
static void widen(const Loops *loops, int kind, const void *x, int64_t size, double *out, float *narrow)
{
    const double signed_most = 0x1p63 - 1024, unsigned_most = 0x1p64 - 2048; /* a cast back is defined */
    if (kind < INT32) {
        loops->to_float32(kind, x, size, narrow);
        for (int64_t i = 0; i < size; i++)
            out[i] = narrow[i];
    } else if (kind == FLOAT64) {
        memcpy(out, x, (size_t)size * sizeof(double));
    } else if (kind == INT32) {
        for (int64_t i = 0; i < size; i++) {
            int32_t v;
            memcpy(&v, (const char *)x + 4 * i, sizeof v);
            out[i] = v;
        }
    } else if (kind == UINT32) {
        for (int64_t i = 0; i < size; i++) {
            uint32_t v;
            memcpy(&v, (const char *)x + 4 * i, sizeof v);
            out[i] = v;
        }
    } else if (kind == INT64) {
        for (int64_t i = 0; i < size; i++)
            out[i] = lesser((double)signed_at(x, i), signed_most);
    } else {
        for (int64_t i = 0; i < size; i++)
            out[i] = lesser((double)unsigned_at(x, i), unsigned_most);
    }
}

/* What `widen` rounded away; exact. */
static double remainder_at(int kind, const void *x, int64_t i, double rounded)
{
    if (kind == INT64)
        return (double)(int64_t)((uint64_t)signed_at(x, i) - (uint64_t)(int64_t)rounded);
    if (kind == UINT64)
        return (double)(int64_t)(unsigned_at(x, i) - (uint64_t)rounded);
    return 0.0;
}

static void widen_both(const Loops *loops, const int kinds[2], const char *const from[2], int64_t size, Room *room)
{
    double *t = room->wide[0], *g = room->wide[1], *d = room->wide[2];
    widen(loops, kinds[0], from[0], size, t, room->narrow[0]);
    widen(loops, kinds[1], from[1], size, g, room->narrow[0]);
    for (int64_t i = 0; i < size; i++)
        d[i] = t[i] - g[i];
    if (kinds[0] == INT64 || kinds[0] == UINT64 || kinds[1] == INT64 || kinds[1] == UINT64)
        for (int64_t i = 0; i < size; i++)
            d[i] += remainder_at(kinds[0], from[0], i, t[i]) - remainder_at(kinds[1], from[1], i, g[i]);
}

/* Read a block as float32 if both sides fit it, else as float64 with the difference. */
static Pair read_block(const Loops *loops, const int kinds[2], const char *const from[2], int64_t size, Room *room)
{
    if (kinds[0] >= INT32 || kinds[1] >= INT32) {
        widen_both(loops, kinds, from, size, room);
        return (Pair){{room->wide[0], room->wide[1]}, room->wide[2], FLOAT64, size};
    }
    Pair p = {{from[0], from[1]}, 0, FLOAT32, size};
    for (int side = 0; side < 2; side++)
        if (kinds[side] != FLOAT32 || (uintptr_t)from[side] % sizeof(float)) {
            loops->to_float32(kinds[side], from[side], size, room->narrow[side]);
            p.x[side] = room->narrow[side];
        }
    return p;
}

/* --- adding -------------------------------------------------------------------------------- */

typedef struct {
    const Loops *loops;
    int64_t *counts;
    double *figures;
    Room *room;
} State;

static void find_extremes(const Loops *loops, int kind, const void *x, int64_t size, Extremes *e)
{
    *e = (Extremes){INFINITY, -INFINITY, 0};
    (kind == FLOAT64 ? loops->extremes_wide : loops->extremes[kind])(x, size, e);
    if (kind == FLOAT16 || kind == BFLOAT16) {
        e->low = half_of_key(kind, e->low);
        e->high = half_of_key(kind, e->high);
    }
}

/* Whether the deviation of one side is so small that a sum of squares does not have its digits. */
static int cancels(const Block *b, int side, int64_t size)
{
    double mean = b->plain[side] / (double)size;
    return !(b->squares[side] - (double)size * mean * mean > CANCELS * b->squares[side]);
}

static void add_moments(const State *s, int side, int64_t size, double mean, double m2)
{
    int64_t before = s->counts[SEEN_T + side];
    double *into = s->figures + 4 * side;
    double share = (double)size / (double)(before + size), delta = mean - into[MEAN_T];
    s->counts[SEEN_T + side] += size;
    into[MEAN_T] += delta * share;
    into[M2_T] += m2 + delta * delta * (double)before * share;
}

/* Add finite elements of one side, float32 or float64, given what was gathered of them as side ``of`` of a block. */
static void describe(const State *s, int side, int kind, const void *x, int64_t size, const Block *b, int of)
{
    double *into = s->figures + 4 * side;
    const Extremes *e = &b->sides[of];
    into[MIN_T] = lesser(e->low + 0.0, into[MIN_T]); /* + 0.0: there is one zero */
    into[MAX_T] = larger(e->high + 0.0, into[MAX_T]);
    s->counts[ZERO_T + 4 * side] += e->zeros;
    double mean = b->plain[of] / (double)size, m2 = b->squares[of] - (double)size * mean * mean;
    if (cancels(b, of, size))
        m2 = s->loops->spread(kind, x, size, mean);
    add_moments(s, side, size, mean, m2);
}

/* Put right what was taken for exact: elements whose golden is near to zero. */
static void add_near_zero(const State *s, const Pair *p)
{
    for (int64_t i = 0; i < p->size; i++) {
        double own = fabs(element(p, 1, i)), off;
        if (own > NEAR_ZERO || !((off = fabs(difference(p, i))) > 0.0))
            continue;
        s->figures[SMALL] += off;
        s->figures[SMALL_MAX] = larger(off, s->figures[SMALL_MAX]);
        s->counts[ONE] -= off / own >= ONE_THOUSANDTH;
        s->counts[FIVE] -= off / own >= FIVE_THOUSANDTHS;
    }
}

/* Add what a block of finite elements gave; ``places`` are their flat indices, if they are not ``start`` and on. */
static void join(const State *s, const Pair *p, const Block *b, int64_t start, const int64_t *places)
{
    int64_t *counts = s->counts;
    double *figures = s->figures;
    counts[FINITE] += p->size;
    counts[ONE] += b->one;
    counts[FIVE] += b->five;
    figures[TG] += b->tg;
    figures[TT] += b->squares[0];
    figures[GG] += b->squares[1];
    figures[SQUARE] += b->square;
    figures[ABSOLUTE] += b->absolute;
    figures[RELATIVE] += b->relative;
    figures[RELATIVE_MAX] = larger(b->relative_max, figures[RELATIVE_MAX]);
    figures[DG] += b->dg;
    figures[WEIGHTED] += b->weighted;
    if (b->odd)
        add_near_zero(s, p);
    if (!(b->absolute_max > figures[ABSOLUTE_MAX]))
        return;
    figures[ABSOLUTE_MAX] = b->absolute_max;
    for (int64_t i = 0; i < p->size; i++)
        if (fabs(difference(p, i)) == b->absolute_max) {
            counts[WORST] = places ? places[i] : start + i;
            return;
        }
}

static void copy_ends(const Loops *loops, const Pair *p, int64_t from, Ends *ends)
{
    int64_t count = p->size - from;
    float narrow[8];
    for (int side = 0; side < 2; side++) {
        double *into = side ? ends->g : ends->t;
        const char *x = (const char *)p->x[side] + from * SIZES[p->kind];
        if (p->kind == FLOAT64) {
            memcpy(into, x, (size_t)count * sizeof(double));
            continue;
        }
        loops->to_float32(p->kind, x, count, narrow);
        for (int64_t i = 0; i < count; i++)
            into[i] = narrow[i];
    }
    for (int64_t i = 0; i < count; i++)
        ends->d[i] = p->kind == FLOAT64 ? p->d[from + i] : ends->t[i] - ends->g[i];
}

/* Gather the sums of a block; returns whether its elements and their squares are finite, else the sums are wrong. */
static int gather(const Loops *loops, const Pair *p, Block *b)
{
    Lanes l = {{{0}}, 0, 0, 0, 0, 0};
    Ends ends = {{0}, {0}, {0}};
    int64_t whole = p->size & ~(int64_t)7, spare = p->size > whole ? whole + 8 - p->size : 0;
    if (spare)
        copy_ends(loops, p, whole, &ends);
    (p->kind == FLOAT64 ? loops->cross_wide : loops->cross[p->kind])(p->x[0], p->x[1], p->d, whole, spare ? &ends : 0, &l);
    double *into[SUMS] = {&b->squares[1], &b->square, &b->dg, &b->weighted, &b->plain[0], &b->plain[1], &b->absolute, &b->relative};
    for (int i = 0; i < SUMS; i++)
        *into[i] = sum_lanes(l.sums[i]);
    b->absolute_max = l.absolute_max;
    b->relative_max = l.relative_max;
    b->one = l.one - spare;
    b->five = l.five - spare;
    b->odd = l.odd != 0;
    b->tg = b->squares[1] + b->dg;
    b->squares[0] = b->squares[1] + (2 * b->dg + b->square);
    return isfinite(b->squares[1] + b->square);
}

/* Whether differences are so large that Σt² and Σt·g, which follow from them, have lost digits. */
static int is_far(const Block *b)
{
    return !(fabs(b->dg) <= 0.25 * b->squares[1]) || !isfinite(b->squares[1]);
}

/* Add a block of finite elements; ``read`` is the same block as float32 or float64. */
static void add_finite(const State *s, const Pair *p, const Pair *read, Block *b, int64_t start, const int64_t *places)
{
    const Loops *loops = s->loops;
    if (is_far(b)) {
        double sums[2];
        loops->products(read->kind, read->x[0], read->x[1], read->size, sums);
        b->squares[0] = sums[0];
        b->tg = sums[1];
    }
    if (!places)
        for (int side = 0; side < 2; side++) {
            find_extremes(loops, p->kind, p->x[side], p->size, &b->sides[side]);
            describe(s, side, read->kind, read->x[side], p->size, b, side);
        }
    join(s, read, b, start, places);
}

/* Describe one side of a block by its own finite elements, and count the others. */
static void add_alone(const State *s, int side, const double *x, int64_t size)
{
    double *kept = s->room->kept;
    int64_t count = 0, *special = s->counts + 4 * side;
    for (int64_t i = 0; i < size; i++) {
        double v = x[i];
        kept[count] = v;
        count += isfinite(v) != 0;
        special[NAN_T] += v != v;
        special[POS_INF_T] += v == INFINITY;
        special[NEG_INF_T] += v == -INFINITY;
    }
    if (!count)
        return;
    Block b;
    memset(s->room->none, 0, (size_t)count * sizeof(double));
    const Pair p = {{kept, kept}, s->room->none, FLOAT64, count};
    gather(s->loops, &p, &b);
    find_extremes(s->loops, FLOAT64, kept, count, &b.sides[1]);
    describe(s, side, FLOAT64, kept, count, &b, 1);
}

/* Add a block that is not finite throughout, or whose squares leave float64. */
static void add_mixed(const State *s, const int kinds[2], const char *const from[2], int64_t size, int64_t start)
{
    Room *room = s->room;
    double *t = room->wide[0], *g = room->wide[1], *d = room->wide[2];
    widen_both(s->loops, kinds, from, size, room);
    add_alone(s, 0, t, size);
    add_alone(s, 1, g, size);
    int64_t count = 0;
    for (int64_t i = 0; i < size; i++) {
        int both = isfinite(t[i]) && isfinite(g[i]);
        s->counts[INFINITE_AGREE] += !both && t[i] == g[i];
        t[count] = t[i];
        g[count] = g[i];
        d[count] = d[i];
        room->places[count] = start + i;
        count += both;
    }
    if (!count)
        return;
    Block b;
    const Pair rest = {{t, g}, d, FLOAT64, count};
    gather(s->loops, &rest, &b);
    add_finite(s, &rest, &rest, &b, start, room->places);
}

static void add_block(const State *s, const int kinds[2], const char *const from[2], int64_t size, int64_t start)
{
    Block b;
    int as_it_lies = kinds[0] == kinds[1] && kinds[0] <= INT8 && s->loops->cross[kinds[0]];
    Pair p = {{from[0], from[1]}, 0, kinds[0], size};
    if (!as_it_lies)
        p = read_block(s->loops, kinds, from, size, s->room);
    s->counts[SIZE] += size;
    if (!gather(s->loops, &p, &b)) {
        add_mixed(s, kinds, from, size, start);
        return;
    }
    Pair read = p;
    if (as_it_lies && (b.odd || b.absolute_max > s->figures[ABSOLUTE_MAX] || is_far(&b) || cancels(&b, 0, size) ||
                       cancels(&b, 1, size))) /* elements are looked at once more */
        read = read_block(s->loops, kinds, from, size, s->room);
    add_finite(s, &p, &read, &b, start, 0);
}

/* Add bools: their counts say everything. */
static void add_truths(const State *s, const uint8_t *t, const uint8_t *g, int64_t size, int64_t start)
{
    int64_t *counts = s->counts, found[3];
    double *figures = s->figures;
    s->loops->truths(t, g, size, found);
    int64_t both = found[2], more = found[0] - both, less = found[1] - both, off = more + less;
    counts[SIZE] += size;
    counts[FINITE] += size;
    counts[ONE] += size - off;
    counts[FIVE] += size - off;
    figures[TG] += (double)both;
    figures[TT] += (double)found[0];
    figures[GG] += (double)found[1];
    figures[SQUARE] += (double)off;
    figures[ABSOLUTE] += (double)off;
    figures[DG] -= (double)less;
    figures[WEIGHTED] += (double)less;
    figures[RELATIVE] += (double)less;
    figures[RELATIVE_MAX] = larger(less > 0, figures[RELATIVE_MAX]);
    figures[SMALL] += (double)more;
    figures[SMALL_MAX] = larger(more > 0, figures[SMALL_MAX]);
    for (int side = 0; side < 2; side++) {
        double *into = figures + 4 * side, ones = (double)found[side], zeros = (double)(size - found[side]);
        into[MIN_T] = lesser(zeros == 0, into[MIN_T]);
        into[MAX_T] = larger(ones > 0, into[MAX_T]);
        counts[ZERO_T + 4 * side] += size - found[side];
        add_moments(s, side, size, ones / (double)size, ones * zeros / (double)size);
    }
    if (!off || figures[ABSOLUTE_MAX] >= 1.0)
        return;
    figures[ABSOLUTE_MAX] = 1.0;
    int64_t i = 0;
    while (!t[i] == !g[i])
        i++;
    counts[WORST] = start + i;
}

/* --- slices -------------------------------------------------------------------------------- */

/* The sums of slices: of columns [2][width], rows and bands of tiles from a first one on; a band as wide as a row. */
typedef struct {
    int64_t width, matrix, segments;
    double *columns, *rows[2], *tiles[2];
    int64_t first_row;
    void *band;
} Slices;

/* Add a band of rows, float32 or float64, to the columns and its tiles, from column ``begin`` to ``end``; empty it. */
#define FLUSH(name, type)                                                                                             \
    static void name(const Slices *z, int64_t number, int64_t begin, int64_t end)                                     \
    {                                                                                                                 \
        for (int side = 0; side < 2; side++) {                                                                        \
            type *held = (type *)z->band + side * z->width;                                                           \
            double *into = z->columns + side * z->width;                                                              \
            for (int64_t i = begin; i < end; i++)                                                                     \
                into[i] += held[i];                                                                                   \
            for (int64_t segment = begin / TILE; z->segments && segment * TILE < end; segment++) {                    \
                int64_t last = segment * TILE + TILE < end ? segment * TILE + TILE : end;                             \
                double whole = 0.0;                                                                                   \
                for (int64_t i = segment * TILE; i < last; i++)                                                       \
                    whole += held[i];                                                                                 \
                z->tiles[side][number * z->segments + segment] += whole;                                              \
            }                                                                                                         \
            if (begin < end)                                                                                          \
                memset(held + begin, 0, (size_t)(end - begin) * sizeof(type));                                        \
        }                                                                                                             \
    }
FLUSH(flush_narrow, float)
FLUSH(flush_wide, double)

static int64_t band_of(const Slices *z, int64_t row)
{
    int64_t bands = z->matrix / TILE + (z->matrix % TILE != 0);
    return row / z->matrix * bands + row % z->matrix / TILE;
}

/* Add the slices of a block whose first element has the flat index ``start``. */
static void add_slices(const Loops *loops, const Slices *z, const Pair *p, int64_t start)
{
    void (*flush)(const Slices *, int64_t, int64_t, int64_t) = p->kind == FLOAT64 ? flush_wide : flush_narrow;
    int64_t first = band_of(z, z->first_row), held = band_of(z, start / z->width), begin = z->width, end = 0;
    for (int64_t at = 0, count; at < p->size; at += count) {
        int64_t row = (start + at) / z->width, column = (start + at) % z->width, number = band_of(z, row);
        double sums[2] = {0.0, 0.0};
        count = z->width - column < p->size - at ? z->width - column : p->size - at;
        if (number != held) {
            flush(z, held - first, begin, end);
            held = number;
            begin = z->width;
            end = 0;
        }
        begin = column < begin ? column : begin;
        end = column + count > end ? column + count : end;
        if (p->kind == FLOAT64) {
            double *own = (double *)z->band + column;
            loops->row_wide((const double *)p->x[0] + at, (const double *)p->x[1] + at, count, own, own + z->width, sums);
        } else {
            float *own = (float *)z->band + column;
            loops->row_narrow((const float *)p->x[0] + at, (const float *)p->x[1] + at, count, own, own + z->width, sums);
        }
        z->rows[0][row - z->first_row] += sums[0];
        z->rows[1][row - z->first_row] += sums[1];
    }
    flush(z, held - first, begin, end);
}

/* --- what kernel_compiled.py calls --------------------------------------------------------- */

PUBLIC int64_t workbench_interface(void) { return INTERFACE; }
PUBLIC int64_t workbench_source(void) { return SOURCE; }
PUBLIC int64_t workbench_variants(void) { return variants(); }
PUBLIC int64_t workbench_room(void) { return (int64_t)sizeof(Room); }

/* Add ``size`` elements of both sides, the first with the flat index ``start``.
 *
 * Returns the first element of the block from whose end on an element is off by more than ``least`` of itself, or
 * ``size`` if none is. ``counts`` and ``figures`` are in the order of Sums, ``room`` lies on eight bytes.
 */
PUBLIC int64_t workbench_add(int variant, int kind_t, const char *t, int kind_g, const char *g, int64_t size,
                             int64_t start, double least, int64_t *counts, double *figures, void *room)
{
    const State s = {VARIANTS[variant], counts, figures, room};
    const int kinds[2] = {kind_t, kind_g};
    int64_t from = size, step = kind_t == BOOL && kind_g == BOOL ? 16 * BLOCK : BLOCK;
    for (int64_t at = 0; at < size; at += step) {
        int64_t count = size - at < step ? size - at : step;
        const char *const both[2] = {t + at * SIZES[kind_t], g + at * SIZES[kind_g]};
        if (kind_t == BOOL && kind_g == BOOL)
            add_truths(&s, (const uint8_t *)both[0], (const uint8_t *)both[1], count, start + at);
        else
            add_block(&s, kinds, both, count, start + at);
        if (from == size && (figures[SMALL_MAX] > 0.0 || figures[RELATIVE_MAX] > least))
            from = at;
    }
    return from;
}

/* Add the slices of ``size`` elements of both sides; ``rows`` and ``tiles`` begin with those of the first element. */
PUBLIC void workbench_add_slices(int variant, int kind_t, const char *t, int kind_g, const char *g, int64_t size,
                                 int64_t start, int64_t width, int64_t matrix, double *columns, double *rows_own,
                                 double *rows_off, int64_t segments, double *tiles_own, double *tiles_off, void *band,
                                 void *room)
{
    const int kinds[2] = {kind_t, kind_g};
    const Slices z = {width, matrix, segments, columns, {rows_own, rows_off}, {tiles_own, tiles_off}, start / width, band};
    for (int64_t at = 0; at < size; at += BLOCK) {
        int64_t count = size - at < BLOCK ? size - at : BLOCK;
        const char *const both[2] = {t + at * SIZES[kind_t], g + at * SIZES[kind_g]};
        const Pair p = read_block(VARIANTS[variant], kinds, both, count, room);
        add_slices(VARIANTS[variant], &z, &p, start + at);
    }
}
