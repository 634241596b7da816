#include "tools/commands/program_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace lockstep::commands {
namespace {

constexpr std::size_t page = 2 << 20;
constexpr int first_part = 64 << 20;
constexpr int growth_of_the_heap = 16 << 20;

/// Memory of at least so many bytes, or null.
void* allocate(std::size_t bytes) {
  if (bytes < 2 * page) return std::malloc(bytes == 0 ? 1 : bytes);
  void* made = nullptr;
  if (::posix_memalign(&made, page, bytes) != 0) return nullptr;
  ::madvise(made, bytes / page * page, MADV_HUGEPAGE);
  return made;
}

}  // namespace

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, page);
  ::mallopt(M_TRIM_THRESHOLD, first_part);
  ::mallopt(M_TOP_PAD, growth_of_the_heap);
}

void use_large_pages() {
  const auto before = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  ::mallopt(M_TOP_PAD, first_part);
  void* volatile grown =
      std::malloc(page / 2);  // the heap grows by the first part; volatile, or this would be left out
  std::free(grown);
  ::mallopt(M_TOP_PAD, growth_of_the_heap);
  const auto begin = (before + page - 1) / page * page, end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace lockstep::commands

void* operator new(std::size_t bytes) {
  for (;;) {
    if (void* made = lockstep::commands::allocate(bytes)) return made;
    const auto handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* freed) noexcept { std::free(freed); }
void operator delete(void* freed, std::size_t) noexcept { std::free(freed); }
