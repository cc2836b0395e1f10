// Work in pieces, done by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stiction {

/// Threads that are waited for at the end, also after an exception. (Apple's library has no std::jthread.)
struct Joined {
    std::vector<std::thread> threads;
    Joined() = default;
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;
    ~Joined() {
        for (std::thread& thread : threads) thread.join();
    }
};

/// Call work(k) for k = 0 .. pieces - 1, in this thread and in threads - 1 others. What becomes of a piece must not
/// depend on who does it. After each of its own pieces, this thread calls `pause`, which may throw to end the work.
template <class Work, class Pause> void share_out(int pieces, int threads, Work work, Pause pause) {
    std::atomic<int> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    const auto run = [&](bool pauses) {
        try {
            for (int k = next++; k < pieces; k = next++) {
                work(k);
                if (pauses) pause();
            }
        } catch (...) {
            next = pieces;  // the others end, too
            const std::lock_guard lock(guard);
            failure = std::current_exception();
        }
    };
    {
        Joined others;
        for (int t = 1; t < std::min(threads, pieces); ++t) others.threads.emplace_back(run, false);
        run(true);
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace stiction
