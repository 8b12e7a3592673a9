# Bulk downloads by the command `hecaton fetch`: every URL of a long list, each recorded exactly once, whatever happens
# on the way.
require "json"
require "open3"

module Hecaton
  # Loaded by `require "hecaton/fetch"`. The command does the work, in a process of its own. The environment variable
  # HECATON_BINARY names the command; without it, `hecaton` is looked up in PATH.
  #
  #   Hecaton::Fetch.run(urls, into: "out/", rate: 20, per_host: 4) { |record| puts record["status"] }
  #   Hecaton::Fetch.records("out/", where: "error or status >= 500").each { |record| … }
  #
  # A record is a Hash with the keys that docs/fetch.md lists: "n", "line", "columns", "url", "outcome", "ok", "status",
  # "error", and so on.
  module Fetch
    # The job could not be done, or no input has a good response, or its fail_if: is true. The message is the command's.
    # Fetch.records reads the records that were made.
    class Error < StandardError; end

    module_function

    # Does a job and waits for its end. The same call again resumes where it was: after an exception, a crash or a power
    # cut.
    #
    # urls:: the path of a list or of a job file, a String or Pathname. Or an object with `each` that yields URLs, or
    #   Hashes of columns for a template. Each yielded value is handed over as it comes, and must be the same when the
    #   job resumes.
    # into:: the job's folder.
    # progress:: whether the command reports its progress on standard error. Default false.
    #
    # Other keywords are the command's options: `per_host: 4` is `--per-host 4`, and `robots: true` is `--robots`. An
    # Array repeats the option, and a Hash is an Array of "name: value", for header.
    #
    # Yields each record when the job is done. Without a block, returns an Enumerator of them.
    #
    # Raises ArgumentError, before anything is sent, when an input or an option is bad; Error when the job cannot be
    # done.
    def run(urls, into:, progress: false, **options, &block)
      streamed = !(urls.is_a?(String) || urls.respond_to?(:to_path))
      raise ArgumentError,
        "urls: give a path, or anything with each; not a #{urls.class}" if streamed && !urls.respond_to?(:each)

      flags = options.flat_map { |name, value| Fetch.flag(name, value) }
      arguments = [streamed ? "-" : urls.to_s, "--into", into.to_s, *flags]
      arguments.push("--format", "jsonl") if streamed
      arguments << "--quiet" unless progress
      Fetch.work(arguments, streamed ? urls : [], progress)
      found = records(into)
      return found unless block

      found.each(&block)
      nil
    end

    # The records of a job's folder, as an Enumerator. If the job is not done, the records so far. Only one record at a
    # time is in memory.
    #
    # where:: an expression, such as "status == 404". limit:: at most this many records.
    def records(folder, where: nil, limit: nil)
      arguments = ["show", folder.to_s, *Fetch.flag(:where, where), *Fetch.flag(:limit, limit)]
      Enumerator.new do |found|
        Open3.popen3(*Fetch.command, *arguments) do |input, output, errors, child|
          input.close
          output.set_encoding(Encoding::UTF_8)
          said = Fetch.aside { errors.read }
          output.each_line { |line| found << JSON.parse(line) }
          Fetch.raise_unless_ended_well(child.value, said.value)
        end
      end
    end

    # An option as the command takes it.
    def self.flag(name, value) # :nodoc:
      flag = "--#{name.to_s.tr("_", "-")}"
      case value
      when nil, false then []
      when true then [flag]
      when Hash then value.flat_map { |key, inner| [flag, "#{key}: #{inner}"] }
      when Array then value.flat_map { |inner| flag(name, inner) }
      else ["#{flag}=#{value}"]
      end
    end

    # The command and its verb.
    def self.command # :nodoc:
      name = ENV.fetch("HECATON_BINARY", "hecaton")
      folders = ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).map { |folder| "#{folder}/" }
      folders = [""] if name.include?("/")
      path = folders.map { |folder| folder + name }.find { |file| File.file?(file) && File.executable?(file) }
      raise Error, "the command #{name} was not found: put it into PATH, or name it in HECATON_BINARY" unless path

      [path, "fetch"]
    end

    # Runs the command to its end, with these inputs.
    def self.work(arguments, inputs, progress) # :nodoc:
      Open3.popen3(*command, *arguments) do |input, output, errors, child|
        said = [output, errors].map { |pipe| aside { listen(pipe, progress) } }
        # The signal must kill the child, or it would take the end of the pipe for the end of the list.
        stopped_by(child, :KILL) { hand_over(inputs, input) }
        stopped_by(child, :INT) { child.join }
        raise_unless_ended_well(child.value, said.last.value)
      end
    end

    # Sends the child a signal if something is raised. A Ctrl-C at a terminal has reached the child as
    # well, and a second signal would make it drop the requests in flight.
    def self.stopped_by(child, signal) # :nodoc:
      done = false
      yield
      done = true
    rescue Interrupt
      done = signal == :INT
      raise
    ensure
      Process.kill(signal, child.pid) if !done && child.alive?
    end

    # Reads in a thread while the child is written to. An error there, as of a closed pipe, is not printed.
    def self.aside # :nodoc:
      Thread.new do
        Thread.current.report_on_exception = false
        yield
      end
    end

    # The last lines of the command. With progress, all lines are printed.
    def self.listen(pipe, progress) # :nodoc:
      last = []
      pipe.set_encoding(Encoding::UTF_8)
      pipe.each_line do |line|
        $stderr.write(line) if progress
        last = (last << line).last(20)
      end
      last.join
    end

    # A line of JSON for each input.
    def self.hand_over(inputs, pipe) # :nodoc:
      inputs.each do |input|
        unless input.is_a?(Hash) || input.respond_to?(:to_s)
          raise ArgumentError, "urls: yields a #{input.class}; give Strings, or Hashes of columns"
        end

        pipe.puts(JSON.generate(input.is_a?(Hash) ? input : input.to_s))
      end
      pipe.close
    rescue Errno::EPIPE
      pipe.close # The child has ended, and says why.
    end

    # Raises what the command ended with.
    def self.raise_unless_ended_well(status, said) # :nodoc:
      # With 4, the job is done, and the records say which inputs have no good response.
      return if status.success? || status.exitstatus == 4

      said = said.strip.delete_prefix("hecaton: ")
      said = "hecaton fetch ended with #{status}" if said.empty?
      raise ArgumentError, said if status.exitstatus == 2

      raise Error, said
    end
  end
end
