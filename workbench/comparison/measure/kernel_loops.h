/* The loops of the kernel for one kind of processor; included once for each by kernel.c.
 *
 * Before: W is how many float64 a register holds, NAME(name) names the functions, LOOP and INLINE stand before them.
 *
 * All processors add in the same order, so that they give the same bits: element i goes to lane i % 8, lanes are added
 * at the end of a block by `sum_lanes`, and nothing is contracted. Where a register holds fewer lanes, there are as many
 * passes over the block, each for some of the lanes: the sums stay in registers, the block in the first cache.
 */

typedef double NAME(vd) __attribute__((vector_size(8 * W)));
typedef int64_t NAME(vl) __attribute__((vector_size(8 * W)));
typedef float NAME(vf) __attribute__((vector_size(8 * W)));
typedef int32_t NAME(vi) __attribute__((vector_size(8 * W)));
typedef float NAME(half_vf) __attribute__((vector_size(4 * W)));
typedef int32_t NAME(half_vi) __attribute__((vector_size(4 * W)));

#if W == 8
INLINE NAME(vd) NAME(larger)(NAME(vd) a, NAME(vd) b) { return (NAME(vd))_mm512_max_pd((__m512d)a, (__m512d)b); }
INLINE NAME(vd) NAME(lesser)(NAME(vd) a, NAME(vd) b) { return (NAME(vd))_mm512_min_pd((__m512d)a, (__m512d)b); }
INLINE NAME(vf) NAME(larger_f)(NAME(vf) a, NAME(vf) b) { return (NAME(vf))_mm512_max_ps((__m512)a, (__m512)b); }
INLINE NAME(vf) NAME(lesser_f)(NAME(vf) a, NAME(vf) b) { return (NAME(vf))_mm512_min_ps((__m512)a, (__m512)b); }
INLINE NAME(vl) NAME(count_below)(NAME(vl) count, NAME(vd) a, double bound)
{
    __mmask8 below = _mm512_cmp_pd_mask((__m512d)a, _mm512_set1_pd(bound), _CMP_LT_OQ);
    return (NAME(vl))_mm512_mask_sub_epi64((__m512i)count, below, (__m512i)count, _mm512_set1_epi64(-1));
}
INLINE NAME(vi) NAME(count_zeros)(NAME(vi) count, NAME(vf) a)
{
    __mmask16 zero = _mm512_cmp_ps_mask((__m512)a, _mm512_setzero_ps(), _CMP_EQ_OQ);
    return (NAME(vi))_mm512_mask_sub_epi32((__m512i)count, zero, (__m512i)count, _mm512_set1_epi32(-1));
}
/* |g|, or infinity where it is too near to zero for a relative error; ``odd`` gets the bits of |d| there. */
INLINE NAME(vd) NAME(divisor)(NAME(vd) own, NAME(vd) off, NAME(vl) *odd)
{
    __mmask8 small = _mm512_cmp_pd_mask((__m512d)own, _mm512_set1_pd(NEAR_ZERO), _CMP_LE_OQ);
    *odd = (NAME(vl))_mm512_mask_or_epi64((__m512i)*odd, small, (__m512i)*odd, (__m512i)off);
    return (NAME(vd))_mm512_mask_blend_pd(small, (__m512d)own, _mm512_set1_pd(INFINITY));
}
#else
#if W == 4
INLINE NAME(vd) NAME(larger)(NAME(vd) a, NAME(vd) b) { return (NAME(vd))_mm256_max_pd((__m256d)a, (__m256d)b); }
INLINE NAME(vd) NAME(lesser)(NAME(vd) a, NAME(vd) b) { return (NAME(vd))_mm256_min_pd((__m256d)a, (__m256d)b); }
INLINE NAME(vf) NAME(larger_f)(NAME(vf) a, NAME(vf) b) { return (NAME(vf))_mm256_max_ps((__m256)a, (__m256)b); }
INLINE NAME(vf) NAME(lesser_f)(NAME(vf) a, NAME(vf) b) { return (NAME(vf))_mm256_min_ps((__m256)a, (__m256)b); }
INLINE NAME(vd) NAME(choose)(NAME(vl) mask, NAME(vd) a, NAME(vd) b)
{
    return (NAME(vd))_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
}
#else
INLINE NAME(vd) NAME(choose)(NAME(vl) mask, NAME(vd) a, NAME(vd) b)
{
    return (NAME(vd))(((NAME(vl))a & mask) | ((NAME(vl))b & ~mask));
}
INLINE NAME(vf) NAME(choose_f)(NAME(vi) mask, NAME(vf) a, NAME(vf) b)
{
    return (NAME(vf))(((NAME(vi))a & mask) | ((NAME(vi))b & ~mask));
}
INLINE NAME(vd) NAME(larger)(NAME(vd) a, NAME(vd) b) { return NAME(choose)(a > b, a, b); }
INLINE NAME(vd) NAME(lesser)(NAME(vd) a, NAME(vd) b) { return NAME(choose)(a < b, a, b); }
INLINE NAME(vf) NAME(larger_f)(NAME(vf) a, NAME(vf) b) { return NAME(choose_f)(a > b, a, b); }
INLINE NAME(vf) NAME(lesser_f)(NAME(vf) a, NAME(vf) b) { return NAME(choose_f)(a < b, a, b); }
#endif
INLINE NAME(vl) NAME(count_below)(NAME(vl) count, NAME(vd) a, double bound) { return count - (NAME(vl))(a < bound); }
INLINE NAME(vi) NAME(count_zeros)(NAME(vi) count, NAME(vf) a) { return count - (NAME(vi))(a == 0.0f); }
INLINE NAME(vd) NAME(divisor)(NAME(vd) own, NAME(vd) off, NAME(vl) *odd)
{
    NAME(vl) small = own <= NEAR_ZERO;
    *odd |= small & (NAME(vl))off;
    return NAME(choose)(small, INFINITY - (NAME(vd)){0}, own);
}
#endif

INLINE NAME(vd) NAME(magnitude)(NAME(vd) a) { return (NAME(vd))((NAME(vl))a & INT64_MAX); }

/* W elements from one on as float64, wherever they lie; float32 and float64 where W is 2. */
INLINE NAME(vd) NAME(load)(int kind, const void *x, int64_t at)
{
    NAME(vd) wide;
    if (kind == FLOAT64) {
        memcpy(&wide, (const char *)x + 8 * at, sizeof wide);
        return wide;
    }
#if W == 8
    if (kind == FLOAT16)
        return __builtin_convertvector((NAME(half_vf))_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)((const char *)x + 2 * at))), NAME(vd));
    if (kind == BFLOAT16) {
        __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)((const char *)x + 2 * at)));
        return __builtin_convertvector((NAME(half_vf))_mm256_slli_epi32(bits, 16), NAME(vd));
    }
    if (kind == INT8)
        return __builtin_convertvector((NAME(half_vi))_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)((const char *)x + at))), NAME(vd));
#elif W == 4
    if (kind == FLOAT16)
        return (NAME(vd))_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)((const char *)x + 2 * at))));
    if (kind == BFLOAT16) {
        __m128i bits = _mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)((const char *)x + 2 * at)));
        return (NAME(vd))_mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(bits, 16)));
    }
    if (kind == INT8) {
        int32_t bytes;
        memcpy(&bytes, (const char *)x + at, sizeof bytes);
        return (NAME(vd))_mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bytes)));
    }
#endif
    NAME(half_vf) narrow;
    memcpy(&narrow, (const char *)x + 4 * at, sizeof narrow);
    return __builtin_convertvector(narrow, NAME(vd));
}

/* What is gathered of a block, W of the eight lanes. */
typedef struct {
    NAME(vd) gg, square, dg, weighted, plain_t, plain_g, absolute, absolute_max, relative, relative_max;
    NAME(vl) one, five, odd;
} NAME(Sums);

INLINE void NAME(add)(NAME(Sums) *s, NAME(vd) t, NAME(vd) g, NAME(vd) d)
{
    NAME(vd) along = d * g, off = NAME(magnitude)(d), own = NAME(magnitude)(g);
    s->gg += g * g;
    s->square += d * d;
    s->dg += along;
    s->weighted += along * along;
    s->plain_t += t;
    s->plain_g += g;
    s->absolute += off;
    s->absolute_max = NAME(larger)(off, s->absolute_max);
    NAME(vd) ratio = off / NAME(divisor)(own, off, &s->odd);
    s->one = NAME(count_below)(s->one, ratio, ONE_THOUSANDTH);
    s->five = NAME(count_below)(s->five, ratio, FIVE_THOUSANDTHS);
    s->relative += ratio;
    s->relative_max = NAME(larger)(ratio, s->relative_max);
}

INLINE void NAME(pass)(int kind, const void *t, const void *g, const void *d, int64_t size, const Ends *ends, int lane, Lanes *l)
{
    NAME(Sums) s = {0};
    for (int64_t i = lane; i < size; i += 8) {
        NAME(vd) x = NAME(load)(kind, t, i), y = NAME(load)(kind, g, i);
        NAME(add)(&s, x, y, kind == FLOAT64 ? NAME(load)(FLOAT64, d, i) : x - y);
    }
    if (ends)
        NAME(add)(&s, NAME(load)(FLOAT64, ends->t, lane), NAME(load)(FLOAT64, ends->g, lane), NAME(load)(FLOAT64, ends->d, lane));
    const NAME(vd) sums[] = {s.gg, s.square, s.dg, s.weighted, s.plain_t, s.plain_g, s.absolute, s.relative};
    for (int i = 0; i < SUMS; i++)
        memcpy(l->sums[i] + lane, &sums[i], sizeof sums[i]);
    for (int i = 0; i < W; i++) {
        l->absolute_max = larger(s.absolute_max[i], l->absolute_max);
        l->relative_max = larger(s.relative_max[i], l->relative_max);
        l->one += s.one[i];
        l->five += s.five[i];
        l->odd |= s.odd[i];
    }
}

INLINE void NAME(cross_kind)(int kind, const void *t, const void *g, const void *d, int64_t size, const Ends *ends, Lanes *l)
{
    for (int lane = 0; lane < 8; lane += W)
        NAME(pass)(kind, t, g, d, size, ends, lane, l);
}

#define CROSS(kind)                                                                                                   \
    LOOP void NAME(cross_##kind)(const void *t, const void *g, const void *d, int64_t size, const Ends *ends, Lanes *l) \
    {                                                                                                                 \
        NAME(cross_kind)(kind, t, g, d, size, ends, l);                                                               \
    }
CROSS(FLOAT32)
CROSS(FLOAT64)
#if W > 2
CROSS(FLOAT16)
CROSS(BFLOAT16)
CROSS(INT8)
#endif
#undef CROSS

/* Σt·t and Σt·g; of float32 or float64. */
LOOP void NAME(products)(int kind, const void *t, const void *g, int64_t size, double sums[2])
{
    double lanes[2][8];
    for (int lane = 0; lane < 8; lane += W) {
        NAME(vd) tt = {0}, tg = {0};
        for (int64_t i = lane; i < (size & ~(int64_t)7); i += 8) {
            NAME(vd) x = kind == FLOAT64 ? NAME(load)(FLOAT64, t, i) : NAME(load)(FLOAT32, t, i);
            NAME(vd) y = kind == FLOAT64 ? NAME(load)(FLOAT64, g, i) : NAME(load)(FLOAT32, g, i);
            tt += x * x;
            tg += x * y;
        }
        memcpy(lanes[0] + lane, &tt, sizeof tt);
        memcpy(lanes[1] + lane, &tg, sizeof tg);
    }
    for (int64_t i = size & ~(int64_t)7; i < size; i++) {
        double x = kind == FLOAT64 ? ((const double *)t)[i] : (double)((const float *)t)[i];
        double y = kind == FLOAT64 ? ((const double *)g)[i] : (double)((const float *)g)[i];
        lanes[0][i & 7] += x * x;
        lanes[1][i & 7] += x * y;
    }
    sums[0] = sum_lanes(lanes[0]);
    sums[1] = sum_lanes(lanes[1]);
}

/* Minimum, maximum and zeros of finite elements: float32, float64, or integers that order like the elements. */
LOOP void NAME(extremes_FLOAT32)(const void *from, int64_t size, Extremes *e)
{
    const int count = 2 * W;
    NAME(vf) low = INFINITY - (NAME(vf)){0}, high = -INFINITY - (NAME(vf)){0}, x;
    NAME(vi) zeros = {0};
    int64_t i = 0;
    for (; i + count <= size; i += count) {
        memcpy(&x, (const char *)from + 4 * i, sizeof x);
        low = NAME(lesser_f)(x, low);
        high = NAME(larger_f)(x, high);
        zeros = NAME(count_zeros)(zeros, x);
    }
    for (int k = 0; k < count; k++) {
        e->low = lesser(low[k], e->low);
        e->high = larger(high[k], e->high);
        e->zeros += zeros[k];
    }
    for (float v; i < size; i++) {
        memcpy(&v, (const char *)from + 4 * i, sizeof v);
        e->low = lesser(v, e->low);
        e->high = larger(v, e->high);
        e->zeros += v == 0;
    }
}

LOOP void NAME(extremes_FLOAT64)(const void *from, int64_t size, Extremes *e)
{
    NAME(vd) low = INFINITY - (NAME(vd)){0}, high = -INFINITY - (NAME(vd)){0};
    NAME(vl) zeros = {0};
    const double *x = from;
    int64_t i = 0;
    for (; i + W <= size; i += W) {
        NAME(vd) v = NAME(load)(FLOAT64, x, i);
        low = NAME(lesser)(v, low);
        high = NAME(larger)(v, high);
        zeros -= (NAME(vl))(v == 0.0);
    }
    for (int k = 0; k < W; k++) {
        e->low = lesser(low[k], e->low);
        e->high = larger(high[k], e->high);
        e->zeros += zeros[k];
    }
    for (; i < size; i++) {
        e->low = lesser(x[i], e->low);
        e->high = larger(x[i], e->high);
        e->zeros += x[i] == 0;
    }
}

/* A lane counts its zeros in as many bits as its elements have: they are put together after 127 of them. */
#define WHOLE(kind, type, order, is_zero, value)                                                                      \
    typedef type NAME(lanes_##kind) __attribute__((vector_size(8 * W)));                                              \
    LOOP void NAME(extremes_##kind)(const void *from, int64_t size, Extremes *e)                                      \
    {                                                                                                                 \
        const int64_t count = 8 * W / (int64_t)sizeof(type);                                                          \
        const char *x = from;                                                                                         \
        NAME(lanes_##kind) low = order##_MAX - (NAME(lanes_##kind)){0}, high = order##_MIN - (NAME(lanes_##kind)){0}; \
        int64_t zeros = 0, i = 0;                                                                                     \
        while (i + count <= size) {                                                                                   \
            NAME(lanes_##kind) found = {0}, b;                                                                        \
            for (int64_t end = i + 127 * count; i + count <= size && i < end; i += count) {                           \
                memcpy(&b, x + i * (int64_t)sizeof(type), sizeof b);                                                  \
                NAME(lanes_##kind) key = value, below = key < low, above = key > high;                                \
                low = (key & below) | (low & ~below);                                                                 \
                high = (key & above) | (high & ~above);                                                               \
                found -= is_zero;                                                                                     \
            }                                                                                                         \
            for (int k = 0; k < count; k++)                                                                           \
                zeros += found[k];                                                                                    \
        }                                                                                                             \
        type least = order##_MAX, most = order##_MIN;                                                                 \
        for (int k = 0; k < count; k++) {                                                                             \
            least = low[k] < least ? low[k] : least;                                                                  \
            most = high[k] > most ? high[k] : most;                                                                   \
        }                                                                                                             \
        for (type b; i < size; i++) {                                                                                 \
            memcpy(&b, x + i * (int64_t)sizeof(type), sizeof b);                                                      \
            type key = (type)(value);                                                                                 \
            least = key < least ? key : least;                                                                        \
            most = key > most ? key : most;                                                                           \
            zeros += is_zero;                                                                                         \
        }                                                                                                             \
        e->low = least;                                                                                               \
        e->high = most;                                                                                               \
        e->zeros = zeros;                                                                                             \
    }
WHOLE(INT8, int8_t, INT8, (b == 0), b)
WHOLE(INT16, int16_t, INT16, ((b & INT16_MAX) == 0), (b ^ ((b >> 15) & INT16_MAX))) /* float16, bfloat16 */
#undef WHOLE

/* Put elements as float32 into ``out``; exact. */
LOOP void NAME(to_float32)(int kind, const void *x, int64_t size, float *out)
{
#define EACH(type, bits, value)                                                                                       \
    for (int64_t i = 0; i < size; i++) {                                                                              \
        type v;                                                                                                       \
        memcpy(&v, (const char *)x + (size_t)i * sizeof v, sizeof v);                                                 \
        bits made = value;                                                                                            \
        memcpy(out + i, &made, sizeof made);                                                                          \
    }                                                                                                                 \
    break;
    switch (kind) {
    case BOOL: EACH(uint8_t, float, v != 0)
    case INT8: EACH(int8_t, float, v)
    case UINT8: EACH(uint8_t, float, v)
    case INT16: EACH(int16_t, float, v)
    case UINT16: EACH(uint16_t, float, v)
    case BFLOAT16: EACH(uint16_t, uint32_t, (uint32_t)v << 16)
    case FLOAT16: EACH(uint16_t, uint32_t, float_of_half(v))
    default: EACH(float, float, v)
    }
#undef EACH
}

/* Sum of the squares of what is left of elements without their mean; of float32 or float64. */
LOOP double NAME(spread)(int kind, const void *x, int64_t size, double mean)
{
    double lanes[8];
    for (int lane = 0; lane < 8; lane += W) {
        NAME(vd) sum = {0};
        for (int64_t i = lane; i < (size & ~(int64_t)7); i += 8) {
            NAME(vd) rest = (kind == FLOAT64 ? NAME(load)(FLOAT64, x, i) : NAME(load)(FLOAT32, x, i)) - mean;
            sum += rest * rest;
        }
        memcpy(lanes + lane, &sum, sizeof sum);
    }
    for (int64_t i = size & ~(int64_t)7; i < size; i++) {
        double rest = (kind == FLOAT64 ? ((const double *)x)[i] : (double)((const float *)x)[i]) - mean;
        lanes[i & 7] += rest * rest;
    }
    return sum_lanes(lanes);
}

/* How many of two rows of bools are true: of the target, of the golden, of both. */
LOOP void NAME(truths)(const uint8_t *t, const uint8_t *g, int64_t size, int64_t counts[3])
{
    counts[0] = counts[1] = counts[2] = 0;
    for (int64_t at = 0; at < size; at += 128) {
        uint8_t ours = 0, theirs = 0, both = 0;
        const int64_t count = size - at < 128 ? size - at : 128;
        for (int64_t i = at; i < at + count; i++) {
            uint8_t is_t = t[i] != 0, is_g = g[i] != 0;
            ours = (uint8_t)(ours + is_t);
            theirs = (uint8_t)(theirs + is_g);
            both = (uint8_t)(both + (is_t & is_g));
        }
        counts[0] += ours;
        counts[1] += theirs;
        counts[2] += both;
    }
}

/* Add |g| and |d| of the finite elements of a part of a row to its columns, and their sums to ``rows``.
 *
 * A row is added in lanes of float32, which are put together every `STRIP` elements.
 */
LOOP void NAME(row_narrow)(const float *t, const float *g, int64_t size, float *own, float *off, double rows[2])
{
    for (int64_t at = 0; at < size; at += STRIP) {
        float sums[2][16] = {{0}, {0}};
        const int64_t end = size - at < STRIP ? size : at + STRIP;
        int64_t i = at;
        for (; i + 16 <= end; i += 16)
            for (int k = 0; k < 16; k++) {
                float d = fabsf(t[i + k] - g[i + k]), y = fabsf(g[i + k]);
                int finite = d < INFINITY;
                d = finite ? d : 0.0f;
                y = finite ? y : 0.0f;
                own[i + k] += y;
                off[i + k] += d;
                sums[0][k] += y;
                sums[1][k] += d;
            }
        for (; i < end; i++) {
            float d = fabsf(t[i] - g[i]), y = fabsf(g[i]);
            if (d < INFINITY) {
                own[i] += y;
                off[i] += d;
                sums[0][i & 15] += y;
                sums[1][i & 15] += d;
            }
        }
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < 16; k++)
                rows[side] += sums[side][k];
    }
}

LOOP void NAME(row_wide)(const double *t, const double *g, int64_t size, double *own, double *off, double rows[2])
{
    double sums[2][8] = {{0}, {0}};
    for (int64_t i = 0; i < size; i++) {
        double d = fabs(t[i] - g[i]), y = fabs(g[i]);
        if (d < INFINITY) {
            own[i] += y;
            off[i] += d;
            sums[0][i & 7] += y;
            sums[1][i & 7] += d;
        }
    }
    rows[0] += sum_lanes(sums[0]);
    rows[1] += sum_lanes(sums[1]);
}

static const Loops NAME(loops) = {
#if W > 2
    {NAME(cross_FLOAT32), NAME(cross_FLOAT16), NAME(cross_BFLOAT16), NAME(cross_INT8)},
#else
    {NAME(cross_FLOAT32), 0, 0, 0},
#endif
    NAME(cross_FLOAT64), NAME(products),
    {NAME(extremes_FLOAT32), NAME(extremes_INT16), NAME(extremes_INT16), NAME(extremes_INT8)},
    NAME(extremes_FLOAT64), NAME(to_float32), NAME(spread), NAME(truths), NAME(row_narrow), NAME(row_wide),
};

#undef W
#undef NAME
#undef LOOP
#undef INLINE
