// The services of proto/toolrack/v1, loaded at run time: no generated code.
import * as grpc from "@grpc/grpc-js";
import * as loader from "@grpc/proto-loader";

// `protos` is the folder that holds toolrack/v1. 64-bit numbers come as strings, fields under their proto names.
export function connect(service: "ToolService" | "WorkerService", address: string, protos: string): any {
  const files = ["toolrack/v1/tool_service.proto", "toolrack/v1/worker_service.proto"];
  const definition = loader.loadSync(files, {
    includeDirs: [protos], keepCase: true, longs: String, enums: String, defaults: true, oneofs: true,
  });
  const v1 = (grpc.loadPackageDefinition(definition) as any).toolrack.v1;
  return new v1[service](address, grpc.credentials.createInsecure());
}
