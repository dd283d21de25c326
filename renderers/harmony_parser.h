// Harmony's output: messages with header, channel, recipient and content. Sources: openai/harmony's
// format description; the ways in which gpt-oss departs from it are in the tests.
#ifndef TOOLRACK_RENDERERS_HARMONY_PARSER_H_
#define TOOLRACK_RENDERERS_HARMONY_PARSER_H_

#include <memory>

#include "renderers/output.h"
#include "renderers/output_parser.h"

namespace toolrack {

std::unique_ptr<OutputParser> MakeHarmonyParser(const OfferedTools& offered, OutputSink& sink);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_HARMONY_PARSER_H_
