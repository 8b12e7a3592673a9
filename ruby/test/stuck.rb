# At SIGABRT, a process writes what each of its threads does, and ends. bin/test sends the signal to a step that takes
# too long. The file is named by HECATON_LATE, because a test may hold the standard error of its child.
trap(:ABRT) do
  threads = Thread.list.map { |thread| [thread.inspect, *thread.backtrace].join("\n  ") }
  report = ["#{$PROGRAM_NAME}, process #{Process.pid}, was stuck here:", *threads].join("\n").concat("\n\n")
  file = ENV.fetch("HECATON_LATE", nil)
  file ? File.write(file, report, mode: "a") : warn(report)
  exit!(1)
end
