// How many beds does a hospital need? Each thread plays one possible course of
// a week, hour by hour, for one hospital; a second kernel sums up per hospital.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static void die_on_error(cudaError_t code, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "hospital_beds: line %d: %s\n", line, cudaGetErrorString(code));
        exit(1);
    }
}
#define TRY(call) die_on_error(call, __LINE__)

struct RngState {
    unsigned int v[5];
    unsigned int d;

    __host__ __device__ unsigned int next()         // xorwow
    {
        unsigned int t = v[0] ^ (v[0] >> 2);
        v[0] = v[1];
        v[1] = v[2];
        v[2] = v[3];
        v[3] = v[4];
        v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
        d += 362437;
        return v[4] + d;
    }
    __host__ __device__ float unit() { return (next() >> 8) * (1.0f / 16777216.0f); }
};

struct Hospital {
    float arrivals[4];                  // an hour: night, morning, afternoon, evening
    unsigned int leaveWard;             // chance to leave in an hour, of 2^32
    unsigned int leaveIcu;
    unsigned int worsen;
    float icuShare;
    unsigned short beds;
    unsigned short icuBeds;
    unsigned char region;
    unsigned char teaching;
    short staff;
    int replicas;
    float weekend;
};

struct Course {
    RngState rng;
    short ward, icu;                    // patients now
    short waiting;
    short peak;
    int admitted;
    int refused;
    int transferred;
    int bedHours;
    float worstHour;
};

struct Summary {
    unsigned long long bedHours;
    unsigned int admitted;
    unsigned int refused;
    unsigned int transferred;
    int peak;
    float refusedShare;
    float load;
};

// Knuth's method, for small means
__device__ int poisson(RngState &rng, float mean)
{
    float limit = expf(-mean), product = rng.unit();
    int k = 0;
    while (product > limit && k < 64) {
        product *= rng.unit();
        k++;
    }
    return k;
}

__device__ int leaving(RngState &rng, int patients, unsigned int chance)
{
    int gone = 0;
    for (int p = 0; p < patients; p++) gone += rng.next() < chance;
    return gone;
}

__device__ void playHour(const Hospital &h, Course &c, int hour)
{
    int day = hour / 24 % 7, part = hour % 24 / 6;
    float mean = h.arrivals[part];
    if (day >= 5) mean *= h.weekend;

    c.icu -= leaving(c.rng, c.icu, h.leaveIcu);
    c.ward -= leaving(c.rng, c.ward, h.leaveWard);
    int worse = leaving(c.rng, c.ward, h.worsen);
    int moved = min(worse, h.icuBeds - c.icu);
    c.ward -= worse;
    c.icu += moved;
    c.transferred += worse - moved;     // to another hospital

    int arriving = poisson(c.rng, mean);
    for (int a = 0; a < arriving; a++) {
        if (c.rng.unit() < h.icuShare) {
            if (c.icu < h.icuBeds) {
                c.icu++;
                c.admitted++;
            } else {
                c.transferred++;
            }
        } else {
            c.waiting++;
        }
    }
    int free = min(h.beds - c.ward, (int)c.waiting);
    c.ward += free;
    c.admitted += free;
    c.waiting -= free;
    if (c.waiting > 12) {
        c.refused += c.waiting - 12;
        c.waiting = 12;
    }
    int occupied = c.ward + c.icu;
    c.bedHours += occupied;
    if (occupied > c.peak) c.peak = (short)occupied;
    c.worstHour = fmaxf(c.worstHour, (float)(occupied + c.waiting) / (h.beds + h.icuBeds));
}

__global__ void playWeek(const Hospital *hospitals, Course *courses, int count, int replicas, int week)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    const Hospital &h = hospitals[id / replicas];
    Course c = courses[id];
    c.peak = 0;
    c.admitted = c.refused = c.transferred = c.bedHours = 0;
    c.worstHour = 0.f;
    for (int hour = 0; hour < 24 * 7; hour++) playHour(h, c, week * 24 * 7 + hour);
    courses[id] = c;
}

__global__ void summarise(const Course *courses, const Hospital *hospitals, Summary *summary, int hospitalCount)
{
    int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h >= hospitalCount) return;
    int replicas = hospitals[h].replicas;
    const Course *mine = courses + (size_t)h * replicas;
    unsigned long long bedHours = 0;
    unsigned int admitted = 0, refused = 0, transferred = 0;
    int peak = 0;
    for (int r = 0; r < replicas; r++) {
        bedHours += mine[r].bedHours;
        admitted += mine[r].admitted;
        refused += mine[r].refused;
        transferred += mine[r].transferred;
        peak = max(peak, (int)mine[r].peak);
    }
    summary[h].bedHours += bedHours;
    summary[h].admitted += admitted;
    summary[h].refused += refused;
    summary[h].transferred += transferred;
    summary[h].peak = max(summary[h].peak, peak);
    float all = (float)admitted + refused + transferred;
    summary[h].refusedShare = all > 0.f ? refused / all : 0.f;
    summary[h].load = (float)bedHours / ((float)replicas * 168.f * (hospitals[h].beds + hospitals[h].icuBeds));
}

int main(int argc, char **argv)
{
    const int replicas = 128;
    int hospitalCount = argc > 1 ? std::max(1, atoi(argv[1])) : 256;
    int courseCount = hospitalCount * replicas;

    RngState seeder = {{123456789u, 362436069u, 521288629u, 88675123u, 5783321u}, 6615241u};
    std::vector<Hospital> hospitals(hospitalCount);
    std::vector<Course> courses(courseCount);
    for (Hospital &h : hospitals) {
        float size = 0.5f + 1.5f * seeder.unit();
        for (int part = 0; part < 4; part++) h.arrivals[part] = size * (part == 0 ? 0.3f : 0.6f + 0.3f * seeder.unit());
        float stay = 30.f + 25.f * seeder.unit();           // hours
        h.leaveWard = (unsigned int)(4294967295.0 / stay);
        h.leaveIcu = (unsigned int)(4294967295.0 / (1.6 * stay));
        h.worsen = (unsigned int)(4294967295.0 * 0.002);
        h.icuShare = 0.05f + 0.1f * seeder.unit();
        h.beds = (unsigned short)(size * 26);
        h.icuBeds = (unsigned short)(size * 5 + 1);
        h.region = (unsigned char)(seeder.next() % 16);
        h.teaching = seeder.unit() < 0.2f;
        h.staff = (short)(40 * size);
        h.replicas = replicas;
        h.weekend = 0.7f + 0.5f * seeder.unit();
    }
    for (int i = 0; i < courseCount; i++) {
        Course &c = courses[i];
        for (unsigned int &v : c.rng.v) v = seeder.next() | 1u;
        c.rng.d = seeder.next();
        c.ward = (short)(hospitals[i / replicas].beds / 2);
        c.icu = (short)(hospitals[i / replicas].icuBeds / 2);
        c.waiting = c.peak = 0;
        c.admitted = c.refused = c.transferred = c.bedHours = 0;
        c.worstHour = 0.f;
    }

    Hospital *dHospitals;
    Course *dCourses;
    Summary *dSummary;
    TRY(cudaMalloc(&dHospitals, sizeof(Hospital) * hospitalCount));
    TRY(cudaMalloc(&dCourses, sizeof(Course) * courseCount));
    TRY(cudaMalloc(&dSummary, sizeof(Summary) * hospitalCount));
    TRY(cudaMemcpy(dHospitals, hospitals.data(), sizeof(Hospital) * hospitalCount, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dCourses, courses.data(), sizeof(Course) * courseCount, cudaMemcpyHostToDevice));
    TRY(cudaMemset(dSummary, 0, sizeof(Summary) * hospitalCount));

    const int weeks = 26;
    cudaEvent_t begin, end;
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    for (int week = 0; week <= weeks; week++) {
        if (week == 1) TRY(cudaEventRecord(begin));
        playWeek<<<(courseCount + 63) / 64, 64>>>(dHospitals, dCourses, courseCount, replicas, week);
        summarise<<<(hospitalCount + 63) / 64, 64>>>(dCourses, dHospitals, dSummary, hospitalCount);
        TRY(cudaGetLastError());
    }
    TRY(cudaEventRecord(end));
    TRY(cudaEventSynchronize(end));
    float ms = 0.f;
    TRY(cudaEventElapsedTime(&ms, begin, end));

    std::vector<Summary> summary(hospitalCount);
    TRY(cudaMemcpy(summary.data(), dSummary, sizeof(Summary) * hospitalCount, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(courses.data(), dCourses, sizeof(Course) * courseCount, cudaMemcpyDeviceToHost));
    unsigned long long check = 0;
    double load = 0, worst = 0;
    for (const Summary &s : summary) {
        check = check * 37 + s.bedHours + 3ull * s.admitted + 5ull * s.refused + 7ull * s.transferred + s.peak;
        load += s.load + s.refusedShare;
    }
    for (const Course &c : courses) {
        check = check * 31 + c.rng.v[4] + c.ward + c.waiting;
        worst += c.worstHour;
    }
    printf("time_ms %.5f\n", ms / weeks);
    printf("check %llu_%.4e_%.4e\n", check, load, worst);
    TRY(cudaFree(dHospitals));
    TRY(cudaFree(dCourses));
    TRY(cudaFree(dSummary));
    return 0;
}
