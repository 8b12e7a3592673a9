# The file that a download is written to until it is whole, and what is known of where its bytes come from.
module Hecaton
  # Stands beside the file that it is to become, so that becoming it is one step (rename). For a file that may be
  # resumed, "PATH.part", there is also "PATH.part.from". That has its URL and the validator (RFC 9110 §13.1.5) by which
  # the server knows whether it has changed.
  class PartFile # :nodoc: all
    # resume:: whether what an earlier one has left is continued, and whether this one is left to a later one.
    def initialize(path, url, resume)
      @path = File.path(path)
      @target = PartFile.target(@path)
      @source = url
      @resume = resume
      @home = Process.pid
      @part = resume ? "#{@target}.part" : "#{@target}.#{Random.urandom(6).unpack1("H*")}.part"
    end

    # Whatever the working directory is when all bytes are there. A link stays: what it leads to is the file.
    def self.target(path)
      path = File.absolute_path(path)
      File.symlink?(path) ? File.realdirpath(path) : path
    end

    # String: the path as it was given.
    attr_reader :path

    # String: what If-Range is to say of the bytes that are there; nil when they cannot be continued.
    attr_reader :validator

    # Yields itself, open. A part that remains then stays if it can be resumed, unless it has become the file.
    def open
      refuse_what_is_no_file

      @file = @resume ? shared : File.open(@part, File::RDWR | File::CREAT | File::EXCL | File::BINARY)
      @file.sync = true # Else a child that was forked meanwhile would write what is held here once more.
      recall if @resume
      yield self
    ensure
      leave if @file && @home == Process.pid # A child that was forked meanwhile leaves it to its parent.
    end

    # How many bytes there are.
    def size = @file.size

    # Begins anew, with a validator for those who continue; nil if there is none.
    def begin(validator)
      @file.truncate(0) # First, so that the bytes are never another's than the validator.
      @file.rewind
      remember(validator)
    end

    # Appends to what is there.
    def continue = @file.seek(0, IO::SEEK_END)

    # Writes bytes after those that are there.
    def write(bytes) = @file.write(bytes)

    # Becomes the file.
    def finish
      @file.flush
      @file.fsync
      @file.chmod(File.stat(@target).mode & 0o7777) if File.exist?(@target)
      File.rename(@part, @target)
      @finished = true
      forget
    end

    private

    # A device or a pipe would be replaced by a file.
    def refuse_what_is_no_file
      return if !File.exist?(@target) || File.file?(@target)
      raise Errno::EISDIR, @path if File.directory?(@target)

      raise ArgumentError, "#{@path} is a #{File.ftype(@target)}, not a file: give a path that a file can have"
    end

    # The one that is there, or a new one; never one that another download writes to, or has made its file meanwhile.
    def shared
      loop do
        file = File.open(@part, File::RDWR | File::CREAT | File::BINARY)
        unless file.flock(File::LOCK_EX | File::LOCK_NB)
          file.close
          raise "another download writes to #{@part}: wait until it has ended"
        end
        return file if File.exist?(@part) && File.identical?(@part, file)

        file.close
      end
    end

    def note = "#{@part}.from"

    # The whole URL as a hash, for its query may be secret.
    def source
      require "digest"
      Digest::SHA256.hexdigest(@source)
    end

    def recall
      source, validator = File.read(note).split("\n", 2) if size.positive?
      @validator = validator&.chomp if source == self.source && !validator.to_s.empty?
    rescue Errno::ENOENT
      nil # Nobody knows what it is.
    end

    def remember(validator)
      @validator = validator
      return unless @resume

      validator ? File.write(note, "#{source}\n#{validator}\n") : forget
    end

    def forget = (File.delete(note) if @resume && File.exist?(note))

    def leave
      unless @finished || (@validator && @resume && size.positive?)
        File.delete(@part)
        forget
      end
    ensure
      @file.close # And with it goes the lock.
    end
  end
end
