/* SPDX-License-Identifier: Apache-2.0
 * Templates, members and namespaces whose names a test asks for. */
#include <string>
#include <vector>

namespace shop
{
template <typename T> class Basket
{
  public:
    __attribute__((noinline)) void put(const T &thing)
    {
        things.push_back(thing);
    }
    __attribute__((noinline)) T best() const
    {
        T found{};
        for (const T &thing : things)
            if (found < thing)
                found = thing;
        return found;
    }

  private:
    std::vector<T> things;
};

namespace
{
__attribute__((noinline)) int hidden(int n)
{
    return n * n + 1;
}
} // namespace

int visit(int n)
{
    Basket<int> numbers;
    Basket<std::string> words;
    for (int i = 0; i < n; i++) {
        numbers.put(hidden(i));
        words.put(std::to_string(i));
    }
    return numbers.best() + static_cast<int>(words.best().size());
}
} // namespace shop

extern "C" int plugin_cpp_visit(int n)
{
    return shop::visit(n);
}
