#pragma once

/// How the program asks the system for memory. The file also replaces operator new: arrays of 4 MiB and more begin at a
/// large page and ask for large pages. A fault for every 4 KiB takes a tenth of a long run and a quarter of a short
/// one. The system may say no, and takes no memory before it is used.
namespace lockstep::commands {

/// Memory that is freed will be asked for again in a moment: giving it back to the system in between takes a tenth of a
/// short run. Only large arrays go back at once, since what a search keeps between them would leave gaps in the heap
/// that the arrays of the next step do not fit into: a search for a plan then takes half as much memory again.
void keep_freed_memory();

/// Asks for large pages for the first part of the heap. To be called after keep_freed_memory.
void use_large_pages();

}  // namespace lockstep::commands
