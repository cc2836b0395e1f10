// Work in pieces, done by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
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

/// Call work(k, thread, pause) for k = 0 .. pieces - 1, in this thread, number 0, and in threads - 1 others. What becomes of a
/// piece must not depend on who does it. Work calls pause() now and then, which throws where the work is to end: in this
/// thread where `check` does, then in the others.
template <class Work, class Check> void share_out(int pieces, int threads, Work work, Check check) {
    struct Abandoned {};
    std::atomic<int> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    std::mutex guard;
    const auto run = [&](int thread) {
        const std::function<void()> pause = [&, thread] {
            if (thread == 0) check();
            if (failed) throw Abandoned{};
        };
        try {
            for (int k = next++; k < pieces; k = next++) work(k, thread, pause);
        } catch (const Abandoned&) {
        } catch (...) {
            next = pieces, failed = true;  // the others end, too
            const std::lock_guard lock(guard);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        Joined others;
        for (int t = 1; t < std::min(threads, pieces); ++t) others.threads.emplace_back(run, t);
        run(0);
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace stiction
