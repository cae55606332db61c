/* Batch norm, the addition of a shortcut and ReLU in one, forward and backward.

   A tensor is rows x channels with the channels innermost (channels-last), in float32 or bfloat16;
   the channels are a multiple of 16. Sums are taken over a fixed number of chunks of the rows,
   whoever computes them, so that any number of threads gives the same bits. Within a chunk a few
   hundred rows at a time are summed in float32, the rest in double.

   Rows of 16 or 32 channels are taken together as rows of 64, so that four vectors of sums do not
   wait for each other; wider ones go in tiles of 64, or of 16 where 64 does not divide them. */

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define LANES 16
#define WIDE 4      /* vectors in a wide tile */
#define CHUNKS 32
#define BRIEFLY 256 /* rows that are summed in float32 */
#define SMALL 65536 /* elements that one thread is done with sooner than many */

typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef int32_t Mask __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

/* What one call works on; `norm.py` has the same fields in the same order. A pointer is null where
   there is nothing. With `learns` the statistics are the batch's, without it the running ones. */
typedef struct {
    const void *input, *shortcut;
    const float *weight, *bias;
    float *running_mean, *running_variance, *mean, *inverse; /* inverse: of the deviation */
    void *output;
    const void *slope; /* the gradient of the output; those of all else follow */
    void *input_slope, *shortcut_slope;
    float *weight_slope, *bias_slope;
    int64_t rows, channels;
    double momentum, epsilon;
    int32_t halves, cuts, learns, threads; /* halves: bfloat16. cuts: there is a ReLU */
} Norm;

/* How the tensor is gone through: its rows, folded or not, in tiles of `width` elements, in which
   the same channels come again after `period`. */
typedef struct {
    int64_t rows, stride, tiles, width, period;
} Path;

/* Constants for each channel, and sums for each chunk and channel. */
typedef struct {
    const Norm *norm;
    Path path;
    float *centre, *scale, *offset, *tilt;
    double *one, *two;
} Work;

enum { MOMENTS, SHOW, SLOPES, DESCEND };

INLINE Lanes load(const void *from, int64_t at, int halves) {
    Lanes full;
    if (halves) {
        Halves upper;
        memcpy(&upper, (const uint16_t *)from + at, sizeof upper);
        Words words = __builtin_convertvector(upper, Words) << 16;
        memcpy(&full, &words, sizeof full);
    } else {
        memcpy(&full, (const float *)from + at, sizeof full);
    }
    return full;
}

/* bfloat16 is rounded to the nearest, ties to even. */
INLINE void store(void *to, int64_t at, Lanes full, int halves) {
    if (halves) {
        Words words;
        memcpy(&words, &full, sizeof words);
        words += 0x7fff + ((words >> 16) & 1);
        Halves upper = __builtin_convertvector(words >> 16, Halves);
        memcpy((uint16_t *)to + at, &upper, sizeof upper);
    } else {
        memcpy((float *)to + at, &full, sizeof full);
    }
}

/* What is not a number is none behind a ReLU either, so that nobody learns from it unnoticed. */
INLINE Lanes where_positive(Lanes asked, Lanes value) {
    Mask bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= ~(Mask)(asked <= 0.0f);
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE void spread(const float *channels, Path path, int64_t tile, Lanes *lanes) {
    for (int64_t lane = 0; lane < path.width; lane++)
        lanes[lane / LANES][lane % LANES] = channels[tile * path.period + lane % path.period];
}

INLINE void gather(const Lanes *lanes, Path path, int64_t tile, double *channels) {
    for (int64_t lane = 0; lane < path.width; lane++)
        channels[tile * path.period + lane % path.period] += lanes[lane / LANES][lane % LANES];
}

/* One kind of work on one tile of the rows of a chunk.

   MOMENTS: sum input - centre, and its square.
   SHOW: (input - centre) scale + offset + shortcut, through ReLU.
   SLOPES: sum the slope behind ReLU, and its product with input - centre; the shortcut gets it.
   DESCEND: slope scale + (input - centre) tilt + offset. */
INLINE void tile_of(int kind, const Work *work, int64_t tile, int64_t from, int64_t upto,
                    int64_t chunk, int halves, int vectors) {
    const Norm norm = *work->norm;
    const Path path = work->path;
    const int adds = norm.shortcut != NULL, cuts = norm.cuts;
    const void *slope_of = kind == DESCEND && adds && cuts ? norm.shortcut_slope : norm.slope;
    Lanes centre[WIDE], scale[WIDE], offset[WIDE], tilt[WIDE], bias[WIDE], one[WIDE], two[WIDE];
    spread(work->centre, path, tile, centre);
    if (kind != MOMENTS) spread(work->scale, path, tile, scale);
    if (kind == SHOW || kind == DESCEND) spread(work->offset, path, tile, offset);
    if (kind == SLOPES || kind == DESCEND) spread(norm.bias, path, tile, bias);
    if (kind == DESCEND) spread(work->tilt, path, tile, tilt);
    for (int64_t start = from; start < upto; start += BRIEFLY) {
        int64_t stop = start + BRIEFLY < upto ? start + BRIEFLY : upto;
        for (int v = 0; v < vectors; v++) one[v] = two[v] = (Lanes){0};
        for (int64_t row = start; row < stop; row++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                int64_t at = row * path.stride + tile * path.width + v * LANES;
                Lanes off = load(norm.input, at, halves) - centre[v];
                if (kind == MOMENTS) {
                    one[v] += off;
                    two[v] += off * off;
                }
                if (kind == SHOW) {
                    Lanes shown = off * scale[v] + offset[v];
                    if (adds) shown += load(norm.shortcut, at, halves);
                    if (cuts) shown = where_positive(shown, shown);
                    store(norm.output, at, shown, halves);
                }
                if (kind == SLOPES || kind == DESCEND) {
                    Lanes slope = load(slope_of, at, halves);
                    if (cuts && !adds) slope = where_positive(off * scale[v] + bias[v], slope);
                    if (kind == SLOPES && cuts && adds) {
                        slope = where_positive(load(norm.output, at, halves), slope);
                        store(norm.shortcut_slope, at, slope, halves);
                    }
                    if (kind == SLOPES) {
                        one[v] += slope;
                        two[v] += slope * off;
                    } else {
                        Lanes down = slope * scale[v] + off * tilt[v] + offset[v];
                        store(norm.input_slope, at, down, halves);
                    }
                }
            }
        if (kind == MOMENTS || kind == SLOPES) {
            gather(one, path, tile, work->one + chunk * norm.channels);
            gather(two, path, tile, work->two + chunk * norm.channels);
        }
    }
}

INLINE void chunk_of(int kind, const Work *work, int64_t chunk) {
    int64_t rows = work->path.rows, from = rows * chunk / CHUNKS, upto = rows * (chunk + 1) / CHUNKS;
    for (int64_t tile = 0; tile < work->path.tiles; tile++)
        if (work->norm->halves && work->path.width > LANES)
            tile_of(kind, work, tile, from, upto, chunk, 1, WIDE);
        else if (work->norm->halves)
            tile_of(kind, work, tile, from, upto, chunk, 1, 1);
        else if (work->path.width > LANES)
            tile_of(kind, work, tile, from, upto, chunk, 0, WIDE);
        else
            tile_of(kind, work, tile, from, upto, chunk, 0, 1);
}

/* Each thread goes up through its chunks to sum, and down again over what it still has in its
   cache. */
INLINE void sweep(int kind, const Work *work) {
    int many = work->norm->rows * work->norm->channels > SMALL ? work->norm->threads : 1;
#pragma omp parallel num_threads(many) if (many > 1)
    {
        int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t first = CHUNKS * me / all, last = CHUNKS * (me + 1) / all - 1;
        for (int64_t n = 0; n <= last - first; n++)
            chunk_of(kind, work, kind == MOMENTS || kind == SLOPES ? first + n : last - n);
    }
}

static double total(const double *sums, int64_t channel, int64_t channels) {
    double sum = 0;
    for (int64_t chunk = 0; chunk < CHUNKS; chunk++) sum += sums[chunk * channels + channel];
    return sum;
}

static int begin(Work *work, const Norm *norm) {
    int64_t elements = norm->rows * norm->channels, wide = WIDE * LANES, channels = norm->channels;
    if (wide % channels == 0 && elements % wide == 0)
        work->path = (Path){elements / wide, wide, 1, wide, channels};
    else if (channels % wide == 0)
        work->path = (Path){norm->rows, channels, channels / wide, wide, wide};
    else
        work->path = (Path){norm->rows, channels, channels / LANES, LANES, LANES};
    work->norm = norm;
    work->one = calloc(channels, 2 * CHUNKS * sizeof(double) + 4 * sizeof(float));
    if (work->one == NULL) return 0;
    work->two = work->one + CHUNKS * channels;
    work->centre = (float *)(work->two + CHUNKS * channels);
    work->scale = work->centre + channels;
    work->offset = work->scale + channels;
    work->tilt = work->offset + channels;
    return 1;
}

/* Mean and deviation of the batch; the running statistics move towards them. */
static void learn(const Work *work) {
    const Norm *norm = work->norm;
    double count = norm->rows, unbiased = count / (count > 1 ? count - 1 : 1);
    for (int64_t c = 0; c < norm->channels; c++) {
        if (norm->halves) {
            uint32_t word = (uint32_t)((const uint16_t *)norm->input)[c] << 16;
            memcpy(work->centre + c, &word, sizeof word);
        } else {
            work->centre[c] = ((const float *)norm->input)[c];
        }
    }
    sweep(MOMENTS, work);
    for (int64_t c = 0; c < norm->channels; c++) {
        double off = total(work->one, c, norm->channels) / count;
        double variance = total(work->two, c, norm->channels) / count - off * off;
        if (variance < 0) variance = 0;
        norm->mean[c] = work->centre[c] + off;
        norm->inverse[c] = 1 / sqrt(variance + norm->epsilon);
        if (norm->running_mean != NULL) {
            norm->running_mean[c] += norm->momentum * (norm->mean[c] - norm->running_mean[c]);
            norm->running_variance[c] +=
                norm->momentum * (variance * unbiased - norm->running_variance[c]);
        }
    }
}

/* Fills output, mean and inverse; 1 where the memory is used up. */
int norm_forward(const Norm *norm) {
    Work work;
    if (!begin(&work, norm)) return 1;
    if (norm->learns)
        learn(&work);
    else
        for (int64_t c = 0; c < norm->channels; c++) {
            norm->mean[c] = norm->running_mean[c];
            norm->inverse[c] = 1 / sqrt(norm->running_variance[c] + norm->epsilon);
        }
    for (int64_t c = 0; c < norm->channels; c++) {
        work.centre[c] = norm->mean[c];
        work.scale[c] = norm->weight[c] * norm->inverse[c];
        work.offset[c] = norm->bias[c];
    }
    sweep(SHOW, &work);
    free(work.one);
    return 0;
}

/* Fills all slopes; the shortcut's only where there is a ReLU, for else it is the output's. */
int norm_backward(const Norm *norm) {
    Work work;
    if (!begin(&work, norm)) return 1;
    for (int64_t c = 0; c < norm->channels; c++) {
        work.centre[c] = norm->mean[c];
        work.scale[c] = norm->weight[c] * norm->inverse[c];
    }
    sweep(SLOPES, &work);
    for (int64_t c = 0; c < norm->channels; c++) {
        double along = total(work.one, c, norm->channels);
        double across = total(work.two, c, norm->channels) * norm->inverse[c];
        double share = norm->learns ? work.scale[c] / norm->rows : 0;
        norm->bias_slope[c] = along;
        norm->weight_slope[c] = across;
        work.offset[c] = -share * along;
        work.tilt[c] = -share * across * norm->inverse[c];
    }
    sweep(DESCEND, &work);
    free(work.one);
    return 0;
}
