/*
 * transit_fare_capping.cu - back office of a smart-card scheme.
 * Every window (one hour) a batch of taps arrives; each tap is matched with the
 * card's open journey, priced by zones and distance, and capped per day and per
 * week.  Journeys are settled to the operators, and all cards are swept for
 * journeys never closed and for the midnight / Monday rollover.
 *   usage: transit_fare_capping [number of cards]
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CUDA_CHECK(call) do { cudaError_t err_ = (call); if (err_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(err_)); \
    exit(1); } } while (0)

#define DEFAULT_CARDS   6000000u
#define N_STATIONS      2048
#define N_OPERATORS     16
#define WINDOW_S        3600u
#define DAY_S           86400u
#define SERVICE_START   (6u * DAY_S + 5u * 3600u) /* Sunday, 05:00 */
#define MAX_JOURNEY_S   (3u * 3600u)
#define INCOMPLETE_C    890
#define WARMUP_STEPS    2
#define TIMED_STEPS     24
#define TPB             256

#define ST_OPEN         0x01
#define ST_DAY_CAPPED   0x02
#define ST_WEEK_CAPPED  0x04
#define ST_BLOCKED      0x08
#define TAP_IN          0
#define TAP_OUT         1
#define J_VALID         0x01
#define J_CAPPED        0x02
#define J_INCOMPLETE    0x04
#define J_REFUSED       0x08

typedef struct {
    unsigned long long account;
    double   lifetime_spend;      /* in euros */
    int      balance_c, day_spent_c, week_spent_c;
    unsigned open_time;
    float    risk;
    uint16_t open_station;
    uint16_t zones_today;         /* one bit per zone */
    uint16_t journeys;
    uint8_t  concession;          /* 0 adult, 1 student, 2 senior, 3 child */
    uint8_t  state, autoload, incomplete;
} Card;

typedef struct {
    unsigned card;
    unsigned time;
    uint16_t station;
    uint8_t  mode, kind;
} Tap;

typedef struct {
    unsigned card, start, end;
    int      fare_c, charged_c;
    float    km;
    uint16_t from, to;
    uint8_t  op, zones, flags, mode;
} Journey;

typedef struct {
    float    x, y;                /* km in the city grid */
    int      entries, exits;
    uint8_t  zone, op;
    uint16_t line;
} Station;

typedef struct {
    unsigned long long revenue_c, discount_c;
    unsigned journeys, incomplete;
} Operator;

__constant__ int c_day_cap[4]  = {900, 600, 500, 300};
__constant__ int c_week_cap[4] = {3900, 2500, 2100, 1200};
__constant__ int c_percent[4]  = {100, 70, 60, 40};

__host__ __device__ static inline unsigned mix32(unsigned h)
{
    h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu;
    return h ^ (h >> 16);
}

/* Readers: every second card is used in this window.  The stride is a prime,
 * so no card is tapped twice within a batch. */
__global__ void collect_taps(Tap *taps, unsigned n_taps, const Card *cards,
                             unsigned n_cards, unsigned window)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_taps) return;

    unsigned long long k = (unsigned long long)i * 2654435761ull + (unsigned long long)window * 40503ull;
    unsigned card = (unsigned)(k % n_cards);
    unsigned h = mix32(card * 31u + window * 7919u);

    int open = cards[card].state & ST_OPEN;
    int kind = open ? TAP_OUT : TAP_IN;
    if (h % 29u == 0) kind ^= 1;                      /* somebody forgot to tap */

    unsigned home = mix32(card) % N_STATIONS;
    unsigned station = (h & 3u) ? (home + (h >> 8) % 160u) % N_STATIONS : (h >> 10) % N_STATIONS;

    taps[i].card = card;
    taps[i].time = SERVICE_START + window * WINDOW_S + (h >> 4) % WINDOW_S;
    taps[i].station = (uint16_t)station;
    taps[i].mode = (uint8_t)((h >> 21) % 4u);
    taps[i].kind = (uint8_t)kind;
}

__device__ static int price_journey(const Station *stations, int from, int to, int concession,
                                    unsigned start, float *km, int *zones)
{
    int za = stations[from].zone, zb = stations[to].zone;
    *km = fabsf(stations[from].x - stations[to].x) + fabsf(stations[from].y - stations[to].y);
    *zones = 1 + (za > zb ? za - zb : zb - za);

    int fare = 150 + 65 * (*zones - 1) + 4 * (int)(*km);
    unsigned hour = (start % DAY_S) / 3600u;
    if ((hour >= 7 && hour < 9) || (hour >= 16 && hour < 19)) fare += fare / 4;
    return fare * c_percent[concession] / 100;
}

/* Charge as much of the fare as the day cap and the week cap leave open. */
__device__ static int charge_card(Card *card, int fare)
{
    int day_left = c_day_cap[card->concession] - card->day_spent_c;
    int week_left = c_week_cap[card->concession] - card->week_spent_c;
    int charge = fare;
    if (day_left < charge)  { charge = day_left > 0 ? day_left : 0;  card->state |= ST_DAY_CAPPED; }
    if (week_left < charge) { charge = week_left > 0 ? week_left : 0; card->state |= ST_WEEK_CAPPED; }
    card->day_spent_c += charge;
    card->week_spent_c += charge;
    card->balance_c -= charge;
    card->lifetime_spend += 0.01 * charge;
    if (card->balance_c < 300) {
        if (card->autoload) card->balance_c += 100 * card->autoload;
        else if (card->balance_c < 0) card->state |= ST_BLOCKED;
    }
    return charge;
}

__global__ void apply_taps(Card *cards, const Tap *taps, unsigned n_taps, Journey *journeys,
                           Station *stations)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_taps) return;

    Tap tap = taps[i];
    Card *card = &cards[tap.card];
    int state = card->state;
    journeys[i].flags = 0;

    if (state & ST_BLOCKED) {
        journeys[i].flags = J_REFUSED;
        journeys[i].op = stations[tap.station].op;
        return;
    }

    if (tap.kind == TAP_IN) {
        atomicAdd(&stations[tap.station].entries, 1);
        if (state & ST_OPEN) {                        /* last journey was never closed */
            int charged = charge_card(card, INCOMPLETE_C);
            int from = card->open_station;
            Journey lost = {tap.card, card->open_time, tap.time, INCOMPLETE_C, charged, 0.0f, (uint16_t)from,
                            tap.station, stations[from].op, 0, J_VALID | J_INCOMPLETE, tap.mode};
            journeys[i] = lost;
            card->incomplete++;
        }
        card->open_time = tap.time;
        card->open_station = tap.station;
        card->state |= ST_OPEN;
        card->zones_today |= (uint16_t)(1u << stations[tap.station].zone);
        return;
    }

    atomicAdd(&stations[tap.station].exits, 1);
    int from = (state & ST_OPEN) ? card->open_station : tap.station;
    unsigned start = (state & ST_OPEN) ? card->open_time : tap.time;
    float km = 0.0f;
    int zones = 1;
    int fare = (state & ST_OPEN)
                   ? price_journey(stations, from, tap.station, card->concession, start, &km, &zones)
                   : INCOMPLETE_C;
    int charged = charge_card(card, fare);
    card->state &= (uint8_t)~ST_OPEN;
    card->journeys++;
    card->zones_today |= (uint16_t)(1u << stations[tap.station].zone);
    card->risk = 0.9f * card->risk + ((state & ST_OPEN) ? 0.0f : 1.0f);

    Journey j;
    j.card = tap.card;
    j.start = start; j.end = tap.time;
    j.fare_c = fare;
    j.charged_c = charged;
    j.km = km;
    j.from = (uint16_t)from; j.to = tap.station;
    j.op = stations[from].op;
    j.zones = (uint8_t)zones;
    j.flags = (uint8_t)(J_VALID | (charged < fare ? J_CAPPED : 0) | ((state & ST_OPEN) ? 0 : J_INCOMPLETE));
    j.mode = tap.mode;
    journeys[i] = j;
}

__global__ void settle_operators(const Journey *journeys, unsigned n, Operator *ops)
{
    __shared__ unsigned s_revenue[N_OPERATORS], s_discount[N_OPERATORS];
    __shared__ unsigned s_count[N_OPERATORS], s_incomplete[N_OPERATORS];

    if (threadIdx.x < N_OPERATORS) {
        s_revenue[threadIdx.x] = s_discount[threadIdx.x] = s_count[threadIdx.x] = s_incomplete[threadIdx.x] = 0;
    }
    __syncthreads();

    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int flags = journeys[i].flags;
        if (!(flags & J_VALID)) continue;
        int op = journeys[i].op;
        int charged = journeys[i].charged_c;
        atomicAdd(&s_revenue[op], (unsigned)charged);
        atomicAdd(&s_discount[op], (unsigned)(journeys[i].fare_c - charged));
        atomicAdd(&s_count[op], 1u);
        if (flags & J_INCOMPLETE) atomicAdd(&s_incomplete[op], 1u);
    }
    __syncthreads();

    if (threadIdx.x < N_OPERATORS) {
        Operator *op = &ops[threadIdx.x];
        atomicAdd(&op->revenue_c, (unsigned long long)s_revenue[threadIdx.x]);
        atomicAdd(&op->discount_c, (unsigned long long)s_discount[threadIdx.x]);
        atomicAdd(&op->journeys, s_count[threadIdx.x]);
        atomicAdd(&op->incomplete, s_incomplete[threadIdx.x]);
    }
}

__global__ void sweep_cards(Card *cards, unsigned n, unsigned now, int midnight, int monday)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    uint8_t state = cards[i].state;
    if ((state & ST_OPEN) && now - cards[i].open_time > MAX_JOURNEY_S) {
        charge_card(&cards[i], INCOMPLETE_C);
        cards[i].incomplete++;
        cards[i].state &= (uint8_t)~ST_OPEN;
    }
    if (midnight) {
        cards[i].day_spent_c = 0;
        cards[i].zones_today = 0;
        cards[i].state &= (uint8_t)~ST_DAY_CAPPED;
    }
    if (monday) {
        cards[i].week_spent_c = 0;
        cards[i].state &= (uint8_t)~ST_WEEK_CAPPED;
    }
}

int main(int argc, char **argv)
{
    unsigned n_cards = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : DEFAULT_CARDS;
    if (n_cards < 16) n_cards = 16;
    unsigned n_taps = n_cards / 2;

    Card *h_cards = (Card *)calloc(n_cards, sizeof(Card));
    Station *h_stations = (Station *)calloc(N_STATIONS, sizeof(Station));
    if (!h_cards || !h_stations) { fprintf(stderr, "out of memory\n"); return 1; }

    for (unsigned i = 0; i < n_cards; i++) {
        unsigned h = mix32(i + 0x51ed270bu);
        h_cards[i].account = 9400000000000000ull + (unsigned long long)i * 97u;
        h_cards[i].balance_c = 500 + (int)(h % 4000u);
        h_cards[i].week_spent_c = (int)((h >> 7) % 1500u);
        h_cards[i].concession = (uint8_t)((h >> 20) % 7u < 4u ? 0 : 1 + (h >> 25) % 3u);
        h_cards[i].autoload = (uint8_t)((h >> 12) % 10u < 8u ? 20 : 0);
        h_cards[i].open_station = (uint16_t)(h % N_STATIONS);
        h_cards[i].open_time = SERVICE_START - 900u;
        h_cards[i].state = (h >> 28) == 3u ? ST_OPEN : 0;
    }
    for (unsigned i = 0; i < N_STATIONS; i++) {
        unsigned h = mix32(i * 2246822519u + 77u);
        float x = (float)(h & 0xffffu) / 65536.0f * 60.0f - 30.0f;
        float y = (float)(h >> 16) / 65536.0f * 60.0f - 30.0f;
        float r = (x < 0 ? -x : x) + (y < 0 ? -y : y);
        h_stations[i].x = x; h_stations[i].y = y;
        h_stations[i].zone = (uint8_t)(r / 7.0f);     /* 0 .. 8 */
        h_stations[i].op = (uint8_t)(mix32(h) % N_OPERATORS);
        h_stations[i].line = (uint16_t)(i / 32u);
    }

    Card *d_cards; Tap *d_taps; Journey *d_journeys; Station *d_stations; Operator *d_ops;
    CUDA_CHECK(cudaMalloc((void **)&d_cards, n_cards * sizeof(Card)));
    CUDA_CHECK(cudaMalloc((void **)&d_taps, n_taps * sizeof(Tap)));
    CUDA_CHECK(cudaMalloc((void **)&d_journeys, n_taps * sizeof(Journey)));
    CUDA_CHECK(cudaMalloc((void **)&d_stations, N_STATIONS * sizeof(Station)));
    CUDA_CHECK(cudaMalloc((void **)&d_ops, N_OPERATORS * sizeof(Operator)));
    CUDA_CHECK(cudaMemcpy(d_cards, h_cards, n_cards * sizeof(Card), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_stations, h_stations, N_STATIONS * sizeof(Station), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(d_journeys, 0, n_taps * sizeof(Journey)));
    CUDA_CHECK(cudaMemset(d_ops, 0, N_OPERATORS * sizeof(Operator)));

    cudaEvent_t ev0, ev1;
    CUDA_CHECK(cudaEventCreate(&ev0)); CUDA_CHECK(cudaEventCreate(&ev1));
    unsigned tap_blocks = (n_taps + TPB - 1) / TPB, card_blocks = (n_cards + TPB - 1) / TPB;
    unsigned settle_blocks = tap_blocks < 1024u ? tap_blocks : 1024u;
    for (unsigned w = 0; w < WARMUP_STEPS + TIMED_STEPS; w++) {
        if (w == WARMUP_STEPS) CUDA_CHECK(cudaEventRecord(ev0));
        unsigned now = SERVICE_START + (w + 1) * WINDOW_S;
        int midnight = now % DAY_S == 0, monday = now % (7u * DAY_S) == 0;
        collect_taps<<<tap_blocks, TPB>>>(d_taps, n_taps, d_cards, n_cards, w);
        apply_taps<<<tap_blocks, TPB>>>(d_cards, d_taps, n_taps, d_journeys, d_stations);
        settle_operators<<<settle_blocks, TPB>>>(d_journeys, n_taps, d_ops);
        sweep_cards<<<card_blocks, TPB>>>(d_cards, n_cards, now, midnight, monday);
        CUDA_CHECK(cudaGetLastError());
    }
    CUDA_CHECK(cudaEventRecord(ev1));
    CUDA_CHECK(cudaEventSynchronize(ev1));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, ev0, ev1));

    Operator h_ops[N_OPERATORS];
    CUDA_CHECK(cudaMemcpy(h_cards, d_cards, n_cards * sizeof(Card), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(h_stations, d_stations, N_STATIONS * sizeof(Station), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(h_ops, d_ops, sizeof(h_ops), cudaMemcpyDeviceToHost));

    long long check = 0;
    for (unsigned i = 0; i < n_cards; i++) {
        const Card *c = &h_cards[i];
        check += (long long)(c->lifetime_spend * 100.0 + 0.5) + c->balance_c + 3ll * c->day_spent_c;
        check += (long long)(i % 13u) * (c->journeys + c->state + c->zones_today + 5 * c->incomplete);
        check += (long long)(c->account % 11u) * (c->week_spent_c + c->open_station);
    }
    for (int s = 0; s < N_STATIONS; s++)
        check += (long long)(s % 31) * h_stations[s].entries + (long long)(s % 17) * h_stations[s].exits;
    for (int o = 0; o < N_OPERATORS; o++)
        check += (long long)((o + 1) * (h_ops[o].revenue_c + h_ops[o].discount_c + h_ops[o].journeys + h_ops[o].incomplete));

    printf("check %lld\n", check);
    printf("time_ms %.4f\n", ms / TIMED_STEPS);

    cudaFree(d_cards); cudaFree(d_taps); cudaFree(d_journeys); cudaFree(d_stations); cudaFree(d_ops);
    free(h_cards); free(h_stations);
    return 0;
}
