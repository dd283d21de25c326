// The engines of the open families. Each reads the calls of every row of its shape.
#ifndef TOOLRACK_RENDERERS_FAMILY_ENGINES_H_
#define TOOLRACK_RENDERERS_FAMILY_ENGINES_H_

#include <memory>

#include "renderers/output.h"
#include "renderers/output_parser.h"

namespace toolrack {

std::unique_ptr<OutputParser> MakeJsonCallParser(const OfferedTools& offered, OutputSink& sink);
std::unique_ptr<OutputParser> MakeTagCallParser(const OfferedTools& offered, OutputSink& sink);
std::unique_ptr<OutputParser> MakeLiteralCallParser(const OfferedTools& offered, OutputSink& sink);
std::unique_ptr<OutputParser> MakeTreeCallParser(const OfferedTools& offered, OutputSink& sink);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_FAMILY_ENGINES_H_
