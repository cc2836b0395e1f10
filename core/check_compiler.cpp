// Compiles where the core compiles: a probe for the Makefile and for CMake, before they start on the real thing.
#include <array>
#include <concepts>
#include <span>
#include <version>

typedef double Four __attribute__((vector_size(32)));

template <std::floating_point Real> Real sum(std::span<const Real> numbers) {
    Real total = 0;
    for (const Real number : numbers) total += number;
    return total;
}

struct Options {
    int steps = 1;
    double timestep = 0.002;
};

int main() {
    const std::array<double, 2> numbers{1.0, -1.0};
    const Four a{1.0, 2.0, 3.0, 4.0}, b{4.0, 3.0, 2.0, 1.0}, least = a < b ? a : b;
    const Options options{.steps = 2, .timestep = least[0] + least[3] + sum<double>(numbers)};
    return options.timestep == 2.0 ? 0 : options.steps;
}
