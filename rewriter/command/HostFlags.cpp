#include "rewriter/command/HostFlags.h"

#include "clang/Options/Options.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/CommandLine.h"

namespace restride {
using namespace llvm;

/// These choose files and macros, and take their value joined or apart.
static constexpr StringRef WithValue[] = {"-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"};

/// These choose the language. What only tunes or checks the code of the host is
/// not worth the risk that Clang does something else with it.
static constexpr StringRef Language[] = {"-std=",          "-fopenmp",        "-fexceptions",   "-fno-exceptions", "-frtti",
                                         "-fno-rtti",      "-fsigned-char",   "-funsigned-char", "-fno-signed-char", "-fno-unsigned-char",
                                         "-fshort-enums",  "-fno-short-enums", "-fshort-wchar", "-fms-extensions", "-fchar8_t",
                                         "-fno-char8_t",   "-fpack-struct",   "-ftemplate-depth=", "-fpermissive",  "-fno-builtin",
                                         "-ffreestanding", "-fno-operator-names", "-fconstexpr-", "-fdollars-in-identifiers",
                                         "-ansi",          "-pthread",        "-m"};

static bool isKnownToClang(const std::string &Flag) {
  unsigned MissingIndex = 0, MissingCount = 0;
  const char *Argument = Flag.c_str();
  opt::InputArgList Parsed = clang::getDriverOptTable().ParseArgs(Argument, MissingIndex, MissingCount,
                                                                  opt::Visibility(clang::options::ClangOption));
  return !MissingCount && !Parsed.hasArg(clang::options::OPT_UNKNOWN, clang::options::OPT_INPUT);
}

std::vector<std::string> splitHostFlags(StringRef Value) {
  std::string Blanks;
  char Quote = 0;
  for (size_t I = 0; I < Value.size(); ++I) {
    if (Value[I] == '\\' && I + 1 < Value.size()) {
      Blanks += Value.substr(I++, 2);
      continue;
    }
    if (Quote ? Value[I] == Quote : Value[I] == '"' || Value[I] == '\'')
      Quote = Quote ? 0 : Value[I];
    Blanks += Value[I] == ',' && !Quote ? ' ' : Value[I];
  }
  BumpPtrAllocator Allocator;
  StringSaver Saver(Allocator);
  SmallVector<const char *> Words;
  cl::TokenizeGNUCommandLine(Blanks, Saver, Words);
  return {Words.begin(), Words.end()};
}

void keepHostFlags(ArrayRef<std::string> Args, std::vector<std::string> &Flags, std::vector<std::string> &Dropped) {
  for (size_t I = 0; I < Args.size(); ++I) {
    StringRef Flag = Args[I];
    if (is_contained(WithValue, Flag) && I + 1 < Args.size()) {
      Flags.push_back(Flag.str());
      Flags.push_back(Args[++I]);
      continue;
    }
    auto Begins = [&](StringRef Name) { return Flag.starts_with(Name); };
    bool Matters = any_of(WithValue, Begins) || any_of(Language, Begins);
    (Matters && isKnownToClang(Args[I]) ? Flags : Dropped).push_back(Flag.str());
  }
}

} // namespace restride
